package queue

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// model is a slow queue that keeps every pod in one map, looks at all of them for everything, and never forgets an event.
// It is the text of the rules, one after the other, for the default options and one profile "p".
type model struct {
	gates   []Gate
	regs    []Registration
	known   map[string]bool // schedulerNames
	limit   time.Duration
	initial time.Duration
	max     time.Duration
	queued  map[string]*modelEntry
	flights map[types.UID]*modelFlight
	log     []Change
	seq     int
	anchor  *time.Time
	flushed float64
	moves   []string
}

type modelEntry struct {
	pod             *v1.Pod
	ts              time.Time
	seq             int
	attempts, u, e  int
	reject, pending map[string]bool
	gate            string
	flushed         bool
	place           Place
}

type modelFlight struct {
	entry   *modelEntry
	from    int
	deleted bool
}

func name(p *v1.Pod) string { return p.Namespace + "/" + p.Name }

func (m *model) see(now time.Time) {
	if m.anchor == nil {
		m.anchor = &now
	}
	m.flushed = math.Min(m.flushed, m.tick(now))
}

func (m *model) tick(t time.Time) float64 {
	return math.Floor(float64(t.Sub(*m.anchor)) / float64(30*time.Second))
}

func (m *model) moved(e *modelEntry, from, to Place, reason string) {
	m.moves = append(m.moves, fmt.Sprintf("%s %s: %v -> %v (%s)", name(e.pod), e.pod.UID, from, to, reason))
}

func (m *model) put(e *modelEntry, to Place, reason string) {
	m.moved(e, e.place, to, reason)
	e.place = to
	m.queued[name(e.pod)] = e
}

func (m *model) resting(e *modelEntry, now time.Time) bool {
	count := e.u
	if e.e > 0 {
		count = e.e
	}
	if count == 0 || m.max == 0 {
		return false
	}
	d := m.initial
	for i := 1; i < count && d < m.max; i++ {
		d *= 2
	}
	if d > m.max {
		d = m.max
	}
	expiry := e.ts.Add(d).Truncate(time.Second)
	return !expiry.Before(now.Truncate(time.Second))
}

func (m *model) free(e *modelEntry) time.Time {
	t := e.ts.Truncate(time.Second)
	for m.resting(e, t) {
		t = t.Add(time.Second)
	}
	return t
}

func (m *model) refused(e *modelEntry) bool {
	if !m.known[e.pod.Spec.SchedulerName] {
		return false
	}
	order := slices.Clone(m.gates)
	sort.SliceStable(order, func(i, j int) bool { return order[i].Name == e.gate && order[j].Name != e.gate })
	for _, g := range order {
		if v := g.Check(e.pod); v.Refuse || v.Err != nil {
			e.gate = g.Name
			e.reject[g.Name] = true
			return true
		}
	}
	e.gate = ""
	return false
}

func (m *model) add(pod *v1.Pod, reason string, now time.Time) {
	if f := m.flights[pod.UID]; f != nil {
		f.deleted = false
	}
	m.seq++
	e := &modelEntry{pod: pod, ts: now, seq: m.seq, reject: map[string]bool{}, pending: map[string]bool{}}
	to := Active
	if m.refused(e) {
		to = Gated
	}
	if old := m.queued[name(pod)]; old != nil {
		if to == Gated && old.place != Unschedulable && old.place != Gated {
			return
		}
		m.moved(old, old.place, Nowhere, replaced)
	}
	m.put(e, to, reason)
}

func (m *model) before(a, b *modelEntry) bool {
	pa, pb := int32(0), int32(0)
	if a.pod.Spec.Priority != nil {
		pa = *a.pod.Spec.Priority
	}
	if b.pod.Spec.Priority != nil {
		pb = *b.pod.Spec.Priority
	}
	if pa != pb {
		return pa > pb
	}
	if !a.ts.Equal(b.ts) {
		return a.ts.Before(b.ts)
	}
	return a.seq < b.seq
}

func (m *model) best(place Place, before func(a, b *modelEntry) bool) *modelEntry {
	var best *modelEntry
	for _, e := range m.queued {
		if e.place == place && (best == nil || before(e, best)) {
			best = e
		}
	}
	return best
}

func (m *model) pop() *modelEntry {
	for {
		e := m.best(Active, m.before)
		if e == nil {
			e = m.best(Backoff, func(a, b *modelEntry) bool {
				if fa, fb := m.free(a), m.free(b); !fa.Equal(fb) {
					return fa.Before(fb)
				}
				return m.before(a, b)
			})
			if e == nil {
				return nil
			}
			m.put(e, Active, popFromBackoff)
		}
		delete(m.queued, name(e.pod))
		e.attempts++
		if m.flights[e.pod.UID] != nil {
			m.moved(e, Active, Nowhere, duplicate)
			e.place = Nowhere
			continue
		}
		m.moved(e, Active, InFlight, podPopped)
		e.place = InFlight
		m.flights[e.pod.UID] = &modelFlight{entry: e, from: len(m.log)}
		return e
	}
}

func (m *model) done(uid types.UID, reason string) {
	if f := m.flights[uid]; f != nil {
		delete(m.flights, uid)
		if reason != "" {
			m.moved(f.entry, InFlight, Nowhere, reason)
		}
		f.entry.place = Nowhere
	}
}

func (m *model) hears(plugin string, ev Event) bool {
	for _, r := range m.regs {
		if r.Plugin == plugin && r.Event.matches(ev) {
			return true
		}
	}
	return false
}

func (m *model) verdict(e *modelEntry, c Change) string {
	all := map[string]bool{}
	for p := range e.reject {
		all[p] = true
	}
	for p := range e.pending {
		all[p] = true
	}
	if len(all) == 0 {
		return "afterBackoff"
	}
	if c.Event.isWildcard() {
		if p, ok := c.New.(*v1.Pod); c.New != nil && (!ok || p.UID != e.pod.UID) {
			return "skip"
		}
		return "afterBackoff"
	}
	if !m.known[e.pod.Spec.SchedulerName] {
		return "afterBackoff"
	}
	got := "skip"
	for _, r := range m.regs {
		if !all[r.Plugin] || !r.Event.matches(c.Event) {
			continue
		}
		wants := true
		if r.Hint != nil {
			yes, err := r.Hint(e.pod, c.Old, c.New)
			wants = yes || err != nil
		}
		if wants && e.pending[r.Plugin] {
			return "immediate"
		}
		if wants {
			got = "afterBackoff"
		}
	}
	return got
}

func (m *model) requeue(e *modelEntry, verdict, reason string, now time.Time) {
	gated := e.gate
	to := Active
	if verdict == "afterBackoff" && m.resting(e, now) {
		to = Backoff
	}
	if m.refused(e) {
		to = Gated
	} else if to == Backoff && len(e.reject)+len(e.pending) == 0 {
		to = ErrorBackoff
	}
	if e.place == Gated && to == Gated && gated == e.gate && e.pod.Name != "c" { // c's gates are broken, which is told each time
		return
	}
	m.put(e, to, reason)
}

func (m *model) interesting(ev Event) bool {
	if ev.isWildcard() {
		return true
	}
	return slices.ContainsFunc(m.regs, func(r Registration) bool { return r.Event.matches(ev) })
}
