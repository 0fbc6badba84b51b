package pressure_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/eviction/pressure"
	"github.com/podberth/podberth/internal/testkit"
)

// day is the kubelet of one case of testdata/days.txt.
type day struct {
	config pressure.Config
	layout pressure.Layout
	pods   []*v1.Pod
	use    []pressure.PodStats
	policy *pressure.Policy
	state  pressure.State
}

func TestDays(t *testing.T) {
	text, err := os.ReadFile("testdata/days.txt")
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, block := range strings.Split(string(text), "\n\n") {
		head, rest, _ := strings.Cut(strings.Trim(block, "\n"), "\n")
		title, ok := strings.CutPrefix(head, "# ")
		if !ok {
			continue // prose
		}
		name, reason, ok := strings.Cut(title, ": ")
		require.True(t, ok && reason != "" && !seen[name], "%q: want a unique name and a reason", title)
		seen[name] = true
		t.Run(name, func(t *testing.T) {
			d := &day{layout: pressure.Single}
			for line := range strings.SplitSeq(rest, "\n") {
				if seen, want, ok := strings.Cut(line, " => "); ok {
					require.Equal(t, want, d.observe(t, strings.Fields(seen)), line)
				} else {
					d.set(t, strings.Fields(line))
				}
			}
		})
	}
	require.Greater(t, len(seen), 10)
}

func (d *day) set(t *testing.T, words []string) {
	t.Helper()
	pairs := func() settings { return testkit.Pairs(strings.Join(words[1:], ",")) }
	switch words[0] {
	case "hard":
		d.config.EvictionHard = pairs()
	case "soft":
		d.config.EvictionSoft = pairs()
	case "grace":
		d.config.EvictionSoftGracePeriod = pairs()
	case "reclaim":
		d.config.EvictionMinimumReclaim = pairs()
	case "enforce":
		d.config.EnforceNodeAllocatable = words[1:]
	case "maxgrace":
		m, err := strconv.ParseInt(words[1], 10, 32)
		require.NoError(t, err)
		d.config.EvictionMaxPodGracePeriod = int32(m)
	case "transition":
		p, err := time.ParseDuration(words[1])
		require.NoError(t, err)
		d.config.EvictionPressureTransitionPeriod = p
	case "layout":
		if d.layout = pressure.Layout(words[1]); words[1] == "unknown" {
			d.layout = ""
		}
	case "pod":
		p := testkit.Pod(words[1]).Obj()
		var s pressure.PodStats
		for key, value := range testkit.Pairs(strings.Join(words[2:], ",")) {
			switch key {
			case "memory":
				s = memory(bytesOf(value))
			case "disk":
				s = disk(bytesOf(value)/mi, 0, 0)
			case "grace":
				g := bytesOf(value)
				p.Spec.TerminationGracePeriodSeconds = &g
			default:
				t.Fatalf("%v: unknown %q", words, key)
			}
		}
		d.pods, d.use = append(d.pods, p), append(d.use, s)
	default:
		t.Fatalf("%v: unknown line", words)
	}
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	if text == "never" {
		return time.Time{}
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err)
	return epoch.Add(d)
}

func (d *day) observe(t *testing.T, words []string) string {
	t.Helper()
	if d.policy == nil {
		d.policy = compile(t, d.config, pressure.Options{})
	}
	now := at(t, words[0])
	o := pressure.Observation{Signals: map[pressure.Signal]pressure.Measurement{}, Layout: d.layout, Pods: d.pods, Stats: stats(d.pods, d.use...)}
	for _, w := range words[1:] {
		signal, amounts, ok := strings.Cut(w, "=")
		require.True(t, ok, w)
		amounts, measured, timed := strings.Cut(amounts, "@")
		available, capacity, ok := strings.Cut(amounts, "/")
		require.True(t, ok, w)
		m := pressure.Measurement{Available: bytesOf(available), Capacity: bytesOf(capacity), Time: now}
		if timed {
			m.Time = at(t, measured)
		}
		o.Signals[pressure.Signal(signal)] = m
	}
	var dec pressure.Decision
	d.state, dec = d.policy.Observe(d.state, o, now)
	require.Equal(t, d.state.Conditions, dec.Conditions)
	d.state = stored(t, d.state)
	return describe(dec)
}

// stored sends a state through JSON, as a program that keeps it in a file does.
func stored(t *testing.T, s pressure.State) (out pressure.State) {
	t.Helper()
	b, err := json.Marshal(s)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &out))
	return out
}

func describe(d pressure.Decision) string {
	if d.Waiting {
		return "waits"
	}
	var parts, words []string
	for _, c := range d.Conditions {
		words = append(words, string(c))
	}
	if len(words) > 0 {
		parts = append(parts, strings.Join(words, " "))
	}
	for _, e := range d.LocalStorage {
		parts = append(parts, "limits "+e.Pod.Name)
	}
	if d.Acting != nil {
		parts = append(parts, "acts "+string(d.Acting.Signal))
	}
	if len(d.Reclaim) > 0 {
		words = []string{"reclaims"}
		for _, r := range d.Reclaim {
			words = append(words, string(r))
		}
		parts = append(parts, strings.Join(words, " "))
	}
	if d.Eviction != nil {
		parts = append(parts, fmt.Sprintf("evicts %s in %ds", d.Eviction.Pod.Name, d.Eviction.GraceSeconds))
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, "; ")
}
