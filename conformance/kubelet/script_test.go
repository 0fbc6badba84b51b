package kubelet_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"

	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/eviction/pressure"
	"github.com/podberth/podberth/internal/testkit/nodeday"
)

// replays is the largest number of plays of a day. Each play may make other random choices, until they are those of the script.
const replays = 200

// TestScriptedDays plays the days of eviction/pressure with the manager of the kubelet. podberth's own tests play the same days
// step by step. The manager chooses at random among thresholds: each choice must be allowed, and one play must be the script.
func TestScriptedDays(t *testing.T) {
	file, err := os.ReadFile("../../eviction/pressure/testdata/days.txt")
	require.NoError(t, err)
	days, err := nodeday.Parse(string(file))
	require.NoError(t, err)
	require.Greater(t, len(days), 10)
	steps := 0
	for _, d := range days {
		t.Run(d.Name, func(t *testing.T) {
			for range replays {
				same := false
				synctest.Test(t, func(t *testing.T) { same = playDay(t, d) })
				if same {
					return
				}
			}
			t.Fatalf("the kubelet's choices were never the script's in %d plays", replays)
		})
		steps += len(d.Steps)
	}
	t.Logf("%d days, %d steps", len(days), steps)
}

// playDay reports whether the manager follows the script at each step. The test fails when the manager does what podberth would
// not allow.
func playDay(t *testing.T, d nodeday.Day) bool {
	source := trial.NewSource(nil)
	n := &node{Source: source, layout: "single"}
	for _, s := range d.Steps {
		if s.Layout != "" {
			n.layout = s.Layout
		}
	}
	n.dedicated, n.split = n.layout != "single", n.layout == "split"
	c := d.Config
	thresholds, err := eviction.ParseThresholdConfig(c.EnforceNodeAllocatable, c.EvictionHard, c.EvictionSoft, c.EvictionSoftGracePeriod, c.EvictionMinimumReclaim)
	require.NoError(t, err)
	policy, err := pressure.Compile(c, pressure.Options{Release: trial.Linked})
	require.NoError(t, err)
	n.policyGrace = func(t pressure.Threshold, pod *v1.Pod) int64 { return graceSeconds(policy, t, pod) }
	begin := time.Now().Add(2 * time.Second)
	next := 0        // step
	var broken error // the script cannot be played
	n.more = func() bool { return next < len(d.Steps) && broken == nil }
	n.await = func() {
		n.lock.Lock()
		wake, ended := time.Time{}, n.done
		if n.now == nil || !n.now.at.Equal(time.Now()) {
			if next < len(d.Steps) {
				wake = begin.Add(d.Steps[next].At)
			} else if !ended {
				wake = time.Now().Add(time.Hour) // the day is over
			}
		}
		n.lock.Unlock()
		if !wake.IsZero() {
			time.Sleep(time.Until(wake))
		}
	}
	n.script = func(now time.Time) *cycle {
		s := d.Steps[next]
		next++
		if !begin.Add(s.At).Equal(now) {
			broken = fmt.Errorf("%s: the manager begins this cycle at %v", s.Line, now.Sub(begin))
		}
		x := &cycle{at: now, see: d.Observation(s, begin)}
		if s.Layout == "" {
			x.layoutErr = errors.New("no layout yet")
		}
		stats := measured(x.see.Signals)
		if got := pressure.Measure(stats); !maps.Equal(x.see.Signals, got) {
			broken = fmt.Errorf("%s: the statistics say %v", s.Line, got)
		}
		x.summary, x.after = &statsapi.Summary{Node: nodeStats(stats)}, stats
		for _, p := range d.Pods {
			x.summary.Pods = append(x.summary.Pods, podStats(p, d.Stats[p.UID]))
		}
		return x
	}
	at, same := 0, true
	require.NoError(t, n.play(c, thresholds, time.Millisecond, func(policy *pressure.Policy, before, state pressure.State, dec pressure.Decision, x *cycle, m eviction.Manager, _ lifecycle.PodAdmitHandler) error {
		s := d.Steps[at]
		at++
		if c.EvictionPressureTransitionPeriod == 0 { // the manager alone would never report a condition
			if m.IsUnderMemoryPressure() || m.IsUnderDiskPressure() || m.IsUnderPIDPressure() {
				return errors.New("a condition without a transition period")
			}
			m = reported{m, dec.Conditions}
		}
		if err := n.check(policy, before, state, dec, x, m); err != nil {
			return fmt.Errorf("%s: %w", s.Line, err)
		}
		same = same && outcome(dec, x, m) == s.Want
		return nil
	}))
	require.NoError(t, broken)
	require.Equal(t, len(d.Steps), at)
	return same
}

// reported is a manager that reports other conditions.
type reported struct {
	eviction.Manager
	conditions []v1.NodeConditionType
}

func (r reported) IsUnderMemoryPressure() bool {
	return slices.Contains(r.conditions, v1.NodeMemoryPressure)
}
func (r reported) IsUnderDiskPressure() bool {
	return slices.Contains(r.conditions, v1.NodeDiskPressure)
}
func (r reported) IsUnderPIDPressure() bool { return slices.Contains(r.conditions, v1.NodePIDPressure) }

// outcome returns what the manager did in a cycle, in the words of the script. It names the resource, not the threshold. The
// message of the eviction has the threshold's quantity and the amount that was available.
func outcome(d pressure.Decision, c *cycle, m eviction.Manager) string {
	o := nodeday.Outcome{Waiting: c.layoutErr != nil && c.looks == 0, Reclaim: c.reclaimed}
	for _, x := range []struct {
		is   bool
		name v1.NodeConditionType
	}{{m.IsUnderMemoryPressure(), v1.NodeMemoryPressure}, {m.IsUnderDiskPressure(), v1.NodeDiskPressure}, {m.IsUnderPIDPressure(), v1.NodePIDPressure}} {
		if x.is {
			o.Conditions = append(o.Conditions, x.name)
		}
	}
	if c.event != "" {
		o.Acting = pressure.Signal(c.event)
		if d.Acting != nil && c.event == "Warning EvictionThresholdMet "+d.Event {
			o.Acting = d.Acting.Signal
		}
	}
	for _, k := range c.killed {
		o.Evicted, o.Grace = k.pod.Name, k.grace
		if d.Eviction == nil || k.status.Message != d.Eviction.Message {
			o.Evicted = k.status.Message
		}
	}
	return o.String()
}

// measured returns the statistics that give these signals.
func measured(signals map[pressure.Signal]pressure.Measurement) (out pressure.NodeStats) {
	number := func(v int64) *uint64 { u := uint64(v); return &u }
	memory := func(m pressure.Measurement) *pressure.MemoryStats {
		return &pressure.MemoryStats{Time: m.Time, AvailableBytes: number(m.Available), WorkingSetBytes: number(m.Capacity - m.Available)}
	}
	fs := func(f **pressure.FsStats, m pressure.Measurement, inodes bool) {
		if *f == nil {
			*f = &pressure.FsStats{Time: m.Time}
		}
		if inodes {
			(*f).InodesFree, (*f).Inodes = number(m.Available), number(m.Capacity)
		} else {
			(*f).AvailableBytes, (*f).CapacityBytes = number(m.Available), number(m.Capacity)
		}
	}
	for _, s := range slices.Sorted(maps.Keys(signals)) {
		m := signals[s]
		switch s {
		case "memory.available":
			out.Memory = memory(m)
		case "allocatableMemory.available":
			out.PodsMemory = memory(m)
		case "nodefs.available", "nodefs.inodesFree":
			fs(&out.NodeFs, m, s == "nodefs.inodesFree")
		case "imagefs.available", "imagefs.inodesFree":
			fs(&out.ImageFs, m, s == "imagefs.inodesFree")
		case "containerfs.available", "containerfs.inodesFree":
			fs(&out.ContainerFs, m, s == "containerfs.inodesFree")
		case "pid.available":
			running := m.Capacity - m.Available
			out.Processes = &pressure.ProcessStats{Time: m.Time, Max: &m.Capacity, Running: &running}
		}
	}
	return out
}
