package pressure

import (
	"math/big"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/overhead"
)

// slowKubelet applies the rules of a cycle one after the other, over sets of threshold keys.
type slowKubelet struct {
	thresholds []Threshold
	transition time.Duration
	firstMet   map[string]time.Time
	prevMet    map[string]bool
	lastTrue   map[v1.NodeConditionType]time.Time
	last       map[Signal]Measurement
}

// cycle returns the conditions and the thresholds that may act, in no particular order.
func (k *slowKubelet) cycle(signals map[Signal]Measurement, now time.Time) (on map[v1.NodeConditionType]bool, actionable []string) {
	below := func(t Threshold, reclaim bool) bool {
		m, ok := signals[t.Signal]
		if !ok {
			return false
		}
		limit := amount(t.Value, m.Capacity)
		if reclaim {
			limit.Add(limit, amount(t.MinReclaim, m.Capacity))
		}
		return limit.Cmp(new(big.Rat).SetInt64(m.Available)) > 0
	}
	met := map[string]Threshold{}
	for _, t := range k.thresholds {
		if below(t, false) || k.prevMet[t.key()] && below(t, true) {
			met[t.key()] = t
		}
	}
	first := map[string]time.Time{}
	for key, t := range met {
		first[key] = now
		if at, ok := k.firstMet[key]; ok {
			first[key] = at
		}
		k.lastTrue[t.Signal.condition()] = now
	}
	k.firstMet = first
	k.prevMet = map[string]bool{}
	for key, t := range met {
		if now.Sub(first[key]) < t.Grace {
			continue
		}
		k.prevMet[key] = true
		was, ok := k.last[t.Signal]
		is := signals[t.Signal]
		if !ok || was.Time.IsZero() || is.Time.IsZero() || is.Time.After(was.Time) {
			actionable = append(actionable, key)
		}
	}
	k.last = signals
	on = map[v1.NodeConditionType]bool{}
	for c, at := range k.lastTrue {
		if now.Sub(at) < k.transition {
			on[c] = true
		}
	}
	return on, actionable
}

func amount(v thresholdValue, capacity int64) *big.Rat {
	if v.Percent {
		return new(big.Rat).SetInt64(int64(float64(capacity) * float64(v.Share)))
	}
	r, ok := new(big.Rat).SetString(v.Quantity.AsDec().String())
	if !ok {
		panic(v.String())
	}
	return r
}

// before compares two pods by the ranking's rules, comparator by comparator. It returns 0 when only age and name remain.
func before(s Signal, l Layout, a, b *v1.Pod, stats map[types.UID]PodStats) int {
	sa, oka := stats[a.UID]
	sb, okb := stats[b.UID]
	missing := func() int {
		switch {
		case !oka && okb:
			return -1
		case oka && !okb:
			return 1
		}
		return 0
	}
	priority := func() int {
		pa, pb := int32(0), int32(0)
		if a.Spec.Priority != nil {
			pa = *a.Spec.Priority
		}
		if b.Spec.Priority != nil {
			pb = *b.Spec.Priority
		}
		switch {
		case pa < pb:
			return -1
		case pa > pb:
			return 1
		}
		return 0
	}
	larger := func(x, y int64) int {
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	}
	if s == pidAvailable {
		if c := priority(); c != 0 {
			return c
		}
		if c := missing(); c != 0 || !oka {
			return c
		}
		return larger(slowUse(s, l, a, sa), slowUse(s, l, b, sb))
	}
	if c := missing(); c != 0 {
		return c
	}
	exceed, name := int64(1), v1.ResourceEphemeralStorage
	switch s.Resource() {
	case "memory":
		name = v1.ResourceMemory
	case "inodes":
		exceed = 0
	}
	if oka {
		overA := slowUse(s, l, a, sa) > slowAsk(a, name)*exceed
		overB := slowUse(s, l, b, sb) > slowAsk(b, name)*exceed
		if overA != overB {
			if overA {
				return -1
			}
			return 1
		}
	}
	if c := priority(); c != 0 || !oka {
		return c
	}
	return larger(slowUse(s, l, a, sa)-slowAsk(a, name), slowUse(s, l, b, sb)-slowAsk(b, name))
}

func slowAsk(p *v1.Pod, name v1.ResourceName) int64 {
	q := overhead.Requests(p, overhead.Options{IgnoreOverhead: true})[name]
	return q.Value()
}

// slowUse reads the table of what counts on which file system.
func slowUse(s Signal, l Layout, p *v1.Pod, st PodStats) int64 {
	value := func(u *uint64) int64 {
		if u == nil {
			return 0
		}
		return int64(*u)
	}
	switch s.Resource() {
	case "memory":
		return value(st.WorkingSetBytes)
	case "pids":
		return value(st.Processes)
	}
	pick := func(u FsUsage) int64 {
		if s.Resource() == "inodes" {
			return value(u.InodesUsed)
		}
		return value(u.UsedBytes)
	}
	fs := map[string]string{"n": "root logs volumes", "i": "root logs volumes", "c": "root logs volumes"}
	switch l {
	case dedicatedImages:
		fs = map[string]string{"n": "logs volumes", "i": "root", "c": "root"}
	case splitImages:
		fs["i"] = ""
	}
	var sum int64
	for _, what := range strings.Fields(fs[string(s[0])]) {
		switch what {
		case "root":
			for _, c := range st.Containers {
				sum += pick(c.Rootfs)
			}
		case "logs":
			for _, c := range st.Containers {
				sum += pick(c.Logs)
			}
		case "volumes":
			for _, v := range p.Spec.Volumes {
				if i := slices.IndexFunc(st.Volumes, func(x VolumeStats) bool { return x.Name == v.Name }); i >= 0 {
					sum += pick(st.Volumes[i].FsUsage)
				}
			}
		}
	}
	return sum
}
