package queue

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/release"
)

func (m *model) move(c Change, now time.Time) {
	if !m.interesting(c.Event) {
		return
	}
	for _, e := range m.queued {
		if e.place != Unschedulable && e.place != Gated || c.PreCheck != nil && !c.PreCheck(e.pod) {
			continue
		}
		if e.gate != "" && !m.hears(e.gate, c.Event) {
			continue
		}
		if v := m.verdict(e, c); v != "skip" {
			m.requeue(e, v, c.Event.String(), now)
		}
	}
	if len(m.flights) > 0 {
		m.log = append(m.log, c)
	}
}

func (m *model) update(old, new *v1.Pod, now time.Time) {
	if m.flights[new.UID] != nil {
		for _, ev := range PodUpdateEvents(old, new, release.V1_36) {
			m.log = append(m.log, Change{Event: ev, Old: old, New: new})
		}
		return
	}
	e := m.queued[name(new)]
	if e == nil {
		m.add(new, unschedulablePodUpdate.String(), now)
		return
	}
	e.pod = new
	if e.place != Unschedulable && e.place != Gated {
		return
	}
	for _, ev := range PodUpdateEvents(old, new, release.V1_36) {
		if v := m.verdict(e, Change{Event: ev, Old: old, New: new}); v != "skip" {
			m.requeue(e, v, ev.String(), now)
			if e.place != Gated {
				return
			}
		}
	}
}

func (m *model) delete(pod *v1.Pod) {
	if e := m.queued[name(pod)]; e != nil {
		delete(m.queued, name(pod))
		m.moved(e, e.place, Nowhere, podDeleted)
	}
	if f := m.flights[pod.UID]; f != nil {
		f.deleted = true
	}
}

// ret returns false when the pod is queued already.
func (m *model) ret(e *modelEntry, f Failure, now time.Time) bool {
	fl := m.flights[e.pod.UID]
	if m.queued[name(e.pod)] != nil {
		m.done(e.pod.UID, attemptDone)
		return false
	}
	if fl != nil && fl.deleted {
		m.done(e.pod.UID, podDeleted)
		return true
	}
	if f.Pod != nil {
		e.pod = f.Pod
	}
	e.reject, e.pending = map[string]bool{}, map[string]bool{}
	for _, p := range f.Pending {
		e.pending[p], e.reject[p] = true, true
	}
	for _, p := range f.Rejecters {
		e.reject[p] = true
	}
	verdict := "skip"
	if len(e.reject) == 0 {
		e.e++
		verdict = "afterBackoff"
	} else {
		e.u++
		e.e = 0
	}
	m.seq++
	e.ts, e.seq, e.flushed, e.gate = now, m.seq, false, ""
	e.place = InFlight
	if fl == nil {
		verdict = "afterBackoff"
		e.place = Nowhere
	} else {
		for _, c := range m.log[fl.from:] {
			v := m.verdict(e, c)
			if len(e.reject) == 0 {
				break
			}
			if v == "immediate" || v == "afterBackoff" && verdict == "skip" {
				verdict = v
			}
			if v == "immediate" {
				break
			}
		}
	}
	m.done(e.pod.UID, "")
	if fl != nil {
		e.place = InFlight
	}
	if verdict == "skip" {
		m.put(e, Unschedulable, scheduleAttemptFailure)
	} else {
		m.requeue(e, verdict, scheduleAttemptFailure, now)
	}
	return true
}

func (m *model) activate(pod *v1.Pod, now time.Time) {
	e := m.queued[name(pod)]
	if e != nil && e.place != Active {
		if e.place == Unschedulable || e.place == Gated {
			m.requeue(e, "immediate", "ForceActivate", now)
		} else {
			m.put(e, Active, "ForceActivate")
		}
		if e.place == Active {
			return
		}
	}
	if m.flights[pod.UID] != nil {
		m.log = append(m.log, Change{Event: forceActivate, New: pod})
	}
}

func (m *model) flushBackoff(now time.Time) {
	for _, e := range m.queued {
		if (e.place == Backoff || e.place == ErrorBackoff) && !m.resting(e, now) {
			m.put(e, Active, backoffComplete)
		}
	}
}

func (m *model) flushLeftover(at, now time.Time) {
	var due []*modelEntry
	found := false
	for _, e := range m.queued {
		if (e.place == Unschedulable || e.place == Gated) && at.Sub(e.ts) > m.limit {
			e.flushed, found = true, true
			if e.gate == "" {
				due = append(due, e)
			}
		}
	}
	for _, e := range due {
		m.requeue(e, "afterBackoff", "UnschedulableTimeout", now)
	}
	if found && len(m.flights) > 0 {
		m.log = append(m.log, Change{Event: unschedulableTimeout})
	}
}

func (m *model) advance(now time.Time) {
	m.flushBackoff(now)
	n := m.tick(now)
	if n > m.flushed {
		m.flushLeftover(m.anchor.Add(time.Duration(n)*30*time.Second), now)
	}
	m.flushed = n
}

func (m *model) close() {
	for uid := range m.flights {
		m.done(uid, queueClosed)
	}
}
