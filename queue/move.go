package queue

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// Move takes in an event of the cluster and moves the pods that the event may help. It looks only at pods that wait for the
// event: unschedulable pods with a rejecting plugin that registered the event, and gated pods whose gate registered it. When
// a hint says Queue, the pod goes to active, or to backoff until its backoff ends, or stays gated. Move never looks at pods
// in backoff. For pods in flight it logs the event. An event that no plugin registered does nothing.
//
// The additions, updates and deletions of assigned pods are such events: (AssignedPod, Add), also when a pod
// becomes assigned; [PodUpdateEvents]; (AssignedPod, Delete), also when a binding fails or a pod with a nomination is deleted.
// O(pods that wait for it) times the cost of their hints.
func (q *Queue) Move(c Change, now time.Time) []Move {
	q.see(now)
	if q.o.Legacy.CycleCounter {
		q.moveCycle = q.cycle
		c.PreCheck = q.assignedPodCheck(c)
	}
	if namespace := namespaceOfGroup(&c); namespace != "" && q.o.Groups != nil {
		q.regroup(namespace, c.Event.String(), now)
	}
	if !q.interesting(c.Event) {
		return q.moves()
	}
	for _, e := range q.concerned(c.Event) {
		if c.PreCheck != nil && e.Members == nil && !c.PreCheck(e.Pod) {
			continue
		}
		if v, by, err := q.judge(e, &c); v != skip {
			q.requeue(e, v, cause{c.Event.String(), by, err}, now)
		}
	}
	clear(q.found)
	q.moveCycle = q.cycle
	c.PreCheck = nil
	q.record(c)
	return q.moves()
}

// Labels of the events by which pods come from outside.
const (
	labelAdd    = "UnschedulablePodAdd"
	labelUpdate = "UnschedulablePodUpdate"
)

// concerned returns the waiting pods that the event is about, in room that the next call uses again.
func (q *Queue) concerned(arriving Event) []*Entry {
	q.sweeps++
	found := q.found[:0]
	see := func(e *Entry) {
		if e.visited != q.sweeps {
			e.visited = q.sweeps
			found = append(found, e)
		}
	}
	wildcard := arriving.isWildcard()
	if wildcard {
		for _, e := range q.heaps[Unschedulable].items {
			see(e)
		}
		if q.o.wildcardsOpen() {
			for _, e := range q.heaps[Gated].items {
				see(e)
			}
		}
	} else {
		for _, e := range q.loose {
			see(e)
		}
	}
	for _, p := range q.profiles {
		for _, pl := range p.listed {
			if len(pl.rejected.slots) == 0 || !q.hears(pl, arriving) {
				continue
			}
			for _, s := range pl.rejected.slots {
				see(s.entry)
			}
		}
		for _, g := range p.gates {
			pl := p.plugins[g.Name]
			if pl == nil || len(pl.gated.slots) == 0 || !q.gateHears(g.Name, arriving) {
				continue
			}
			for _, s := range pl.gated.slots {
				see(s.entry)
			}
		}
	}
	q.found = found
	return found
}

// requeue sends a waiting entry, or one that returns from its attempt, back towards active.
func (q *Queue) requeue(e *Entry, v verdict, c cause, now time.Time) {
	to := Active
	if v == afterBackoff && q.backingOff(e, now) {
		to = Backoff
	}
	queued := e.place == Unschedulable || e.place == Gated
	held := e.GatingPlugin
	if queued {
		q.take(e)
	}
	if to == Active || !q.o.Legacy.CycleCounter {
		if refused, by := q.gate(e); refused {
			to, c.plugin, c.err = Gated, by, e.GateErr
		}
	}
	if to == Backoff && len(e.waits) == 0 && !q.o.Legacy.CycleCounter {
		to = ErrorBackoff
	}
	same := e.place == Gated && to == Gated && held == e.GatingPlugin && e.GateErr == nil
	q.put(e, to, c, now)
	if same {
		q.out = q.out[:len(q.out)-1]
	}
}

// Update takes in a new version of an unassigned pod:
//
//   - In flight: the queue logs the change.
//   - Active or backing off: the new version replaces the old one and is sorted again.
//   - Waiting: the new version replaces the old one, and moves if an event of the change ([PodUpdateEvents]) may help the pod.
//   - Unknown, or old is nil: as Add.
//
// Errors: [ErrNoPod] when new is nil, [ErrOtherPod] when the names differ.
func (q *Queue) Update(old, new *v1.Pod, now time.Time) ([]Move, error) {
	if new == nil {
		return nil, ErrNoPod
	}
	q.see(now)
	if old == nil {
		q.add(new, labelUpdate, now)
		return q.moves(), nil
	}
	if keyOf(old) != keyOf(new) {
		return nil, otherPod(old, new)
	}
	if q.o.splitsRecreated() && old.UID != new.UID {
		q.out = q.Delete(old)
		q.add(new, labelAdd, now)
		return q.moves(), nil
	}
	events := PodUpdateEvents(old, new, q.o.Release)
	if q.flightOf(new) != nil {
		for _, ev := range events {
			q.record(Change{Event: ev, Old: old, New: new})
		}
		return nil, nil
	}
	if q.grouped(new) {
		q.updateMember(old, new, events, now)
		return q.moves(), nil
	}
	e := q.entries[keyOf(new)]
	if e == nil {
		q.add(new, labelUpdate, now)
		return q.moves(), nil
	}
	q.replace(e, new)
	q.nom.Update(old, new)
	if e.place == Unschedulable || e.place == Gated {
		q.updateWaiting(e, old, new, events, now)
	}
	return q.moves(), nil
}

func (q *Queue) updateWaiting(e *Entry, old, new *v1.Pod, events []Event, now time.Time) {
	if q.o.Legacy.CycleCounter {
		if !sameSpec(old, new) {
			q.requeue(e, afterBackoff, cause{reason: labelUpdate}, now)
		}
		return
	}
	for _, ev := range events {
		v, by, err := q.judge(e, &Change{Event: ev, Old: old, New: new})
		if v == skip {
			continue
		}
		q.requeue(e, v, cause{ev.String(), by, err}, now)
		if e.place != Gated {
			return
		}
	}
}
