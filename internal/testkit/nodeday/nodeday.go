// Package nodeday reads scripted days of a node from files such as eviction/pressure/testdata/days.txt, whose first
// paragraph describes the form. The tests of eviction/pressure play the days with that package. The tests of the conformance
// module play them with the kubelet's eviction manager.
package nodeday

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/eviction/pressure"
	"github.com/podberth/podberth/internal/testkit"
)

// Day is one case of the file: a kubelet's configuration, the pods of its node, and a list of observations.
type Day struct {
	Name, Reason string
	Config       pressure.Config
	Pods         []*v1.Pod
	Stats        map[types.UID]pressure.PodStats
	Steps        []Step
}

// Step is one observation.
type Step struct {
	Line    string        // of the file
	At      time.Duration // since the day began
	Layout  pressure.Layout
	Signals map[pressure.Signal]Reading
	Want    string // the expected text of the Outcome
}

// Reading is one measurement of a signal.
type Reading struct {
	Available, Capacity int64
	Measured            time.Duration // since the day began
	Untimed             bool          // whether the time of the measurement is unknown
}

// Parse reads the days of a file.
func Parse(text string) (days []Day, err error) {
	seen := map[string]bool{}
	for _, block := range strings.Split(text, "\n\n") {
		head, rest, _ := strings.Cut(strings.Trim(block, "\n"), "\n")
		title, ok := strings.CutPrefix(head, "# ")
		if !ok {
			continue // prose
		}
		d := Day{Stats: map[types.UID]pressure.PodStats{}}
		d.Name, d.Reason, _ = strings.Cut(title, ": ")
		if d.Reason == "" || seen[d.Name] {
			return nil, fmt.Errorf("%q: want a unique name and a reason", title)
		}
		seen[d.Name] = true
		layout := pressure.Layout("single")
		for line := range strings.SplitSeq(rest, "\n") {
			if seen, want, ok := strings.Cut(line, " => "); ok {
				s, err := parseStep(strings.Fields(seen))
				if err != nil {
					return nil, fmt.Errorf("%s: %q: %w", d.Name, line, err)
				}
				s.Line, s.Layout, s.Want = line, layout, want
				d.Steps = append(d.Steps, s)
				continue
			}
			words := strings.Fields(line)
			if words[0] == "layout" {
				if layout = pressure.Layout(words[1]); words[1] == "unknown" {
					layout = ""
				}
				continue
			}
			if err := d.set(words); err != nil {
				return nil, fmt.Errorf("%s: %q: %w", d.Name, line, err)
			}
		}
		days = append(days, d)
	}
	return days, nil
}

// set reads a line about the configuration or a pod.
func (d *Day) set(words []string) (err error) {
	pairs := func() map[string]string { return testkit.Pairs(strings.Join(words[1:], ",")) }
	switch words[0] {
	case "hard":
		d.Config.EvictionHard = pairs()
	case "soft":
		d.Config.EvictionSoft = pairs()
	case "grace":
		d.Config.EvictionSoftGracePeriod = pairs()
	case "reclaim":
		d.Config.EvictionMinimumReclaim = pairs()
	case "enforce":
		d.Config.EnforceNodeAllocatable = words[1:]
	case "maxgrace":
		m, err := strconv.ParseInt(words[1], 10, 32)
		d.Config.EvictionMaxPodGracePeriod = int32(m)
		return err
	case "transition":
		d.Config.EvictionPressureTransitionPeriod, err = time.ParseDuration(words[1])
		return err
	case "pod":
		return d.pod(words[1], testkit.Pairs(strings.Join(words[2:], ",")))
	default:
		return fmt.Errorf("unknown line")
	}
	return nil
}

func (d *Day) pod(name string, words map[string]string) error {
	p := testkit.Pod(name).Obj()
	var s pressure.PodStats
	for key, value := range words {
		n, err := amount(value)
		if err != nil {
			return err
		}
		bytes := uint64(n)
		switch key {
		case "memory":
			s = pressure.PodStats{WorkingSetBytes: &bytes, Containers: []pressure.ContainerStats{{Name: "c", WorkingSetBytes: &bytes}}}
		case "disk":
			s = pressure.PodStats{Containers: []pressure.ContainerStats{{Name: "c", Rootfs: pressure.FsUsage{UsedBytes: &bytes}, Logs: pressure.FsUsage{UsedBytes: new(uint64)}}}}
		case "grace":
			p.Spec.TerminationGracePeriodSeconds = &n
		default:
			return fmt.Errorf("unknown %q", key)
		}
	}
	d.Pods, d.Stats[p.UID] = append(d.Pods, p), s
	return nil
}

func amount(text string) (int64, error) {
	q, err := resource.ParseQuantity(text)
	return q.Value(), err
}

// parseStep reads TIME SIGNAL=AVAILABLE/CAPACITY[@MEASURED] ...
func parseStep(words []string) (s Step, err error) {
	if s.At, err = time.ParseDuration(words[0]); err != nil {
		return s, err
	}
	s.Signals = map[pressure.Signal]Reading{}
	for _, w := range words[1:] {
		signal, amounts, _ := strings.Cut(w, "=")
		amounts, measured, timed := strings.Cut(amounts, "@")
		available, capacity, ok := strings.Cut(amounts, "/")
		if !ok {
			return s, fmt.Errorf("%q is no measurement", w)
		}
		r := Reading{Measured: s.At, Untimed: measured == "never"}
		if r.Available, err = amount(available); err != nil {
			return s, err
		}
		if r.Capacity, err = amount(capacity); err != nil {
			return s, err
		}
		if timed && !r.Untimed {
			if r.Measured, err = time.ParseDuration(measured); err != nil {
				return s, err
			}
		}
		s.Signals[pressure.Signal(signal)] = r
	}
	return s, nil
}

// Observation returns what the kubelet observes at a step of a day that began at the given time.
func (d *Day) Observation(s Step, begin time.Time) pressure.Observation {
	o := pressure.Observation{Signals: map[pressure.Signal]pressure.Measurement{}, Layout: s.Layout, Pods: d.Pods, Stats: d.Stats}
	for signal, r := range s.Signals {
		m := pressure.Measurement{Available: r.Available, Capacity: r.Capacity}
		if !r.Untimed {
			m.Time = begin.Add(r.Measured)
		}
		o.Signals[signal] = m
	}
	return o
}

// Outcome is what the kubelet does at a step.
type Outcome struct {
	Waiting    bool
	Conditions []v1.NodeConditionType
	Limits     []string // pods over their own limits
	Acting     pressure.Signal
	Reclaim    []string
	Evicted    string // pod; empty: none
	Grace      int64  // seconds
}

// Of returns the outcome of a decision.
func Of(d pressure.Decision) Outcome {
	o := Outcome{Waiting: d.Waiting, Conditions: d.Conditions, Reclaim: d.Reclaim}
	for _, e := range d.LocalStorage {
		o.Limits = append(o.Limits, e.Pod.Name)
	}
	if d.Acting != nil {
		o.Acting = d.Acting.Signal
	}
	if d.Eviction != nil {
		o.Evicted, o.Grace = d.Eviction.Pod.Name, d.Eviction.GraceSeconds
	}
	return o
}

// String returns the outcome in the form of the file.
func (o Outcome) String() string {
	if o.Waiting {
		return "waits"
	}
	var parts, words []string
	for _, c := range o.Conditions {
		words = append(words, string(c))
	}
	if len(words) > 0 {
		parts = append(parts, strings.Join(words, " "))
	}
	for _, name := range o.Limits {
		parts = append(parts, "limits "+name)
	}
	if o.Acting != "" {
		parts = append(parts, "acts "+string(o.Acting))
	}
	if len(o.Reclaim) > 0 {
		words = append([]string{"reclaims"}, o.Reclaim...)
		parts = append(parts, strings.Join(words, " "))
	}
	if o.Evicted != "" {
		parts = append(parts, fmt.Sprintf("evicts %s in %ds", o.Evicted, o.Grace))
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, "; ")
}
