package queue

import (
	"container/list"

	v1 "k8s.io/api/core/v1"
)

// Change is an event with its object. Old is nil for an addition, New is nil for a deletion.
type Change struct {
	Event    Event
	Old, New any
	// PreCheck limits a Move to the waiting pods that PreCheck allows; pods in flight hear of the event anyway. nil allows
	// every pod. When a pending pod with a nomination is deleted, or its nomination changes, its room is free for pods of the
	// same or a lower priority: such a Move is (AssignedPod, Delete) with a PreCheck that allows these pods.
	PreCheck func(pod *v1.Pod) bool
}

// flight is a popped pod whose attempt runs. The queue logs the events that arrive meanwhile, once for all flights: a
// flight reads the log from the event numbered from.
type flight struct {
	entry   *Entry
	from    int
	tick    uint64 // of the queue at the pop
	deleted bool
}

func (q *Queue) flightOf(pod *v1.Pod) *flight {
	if el := q.flights[flightKey(pod)]; el != nil {
		return el.Value.(*flight)
	}
	return nil
}

func (q *Queue) takeOff(e *Entry) {
	f := &flight{entry: e, from: q.base + len(q.events), tick: q.tick}
	q.flights[flightKey(e.Pod)] = q.order.PushBack(f)
}

// land forgets the flight of a pod and the events that no other flight can read.
func (q *Queue) land(pod *v1.Pod) *flight {
	el := q.flights[flightKey(pod)]
	if el == nil {
		return nil
	}
	delete(q.flights, flightKey(pod))
	q.order.Remove(el)
	q.trim()
	return el.Value.(*flight)
}

// trim drops the events older than the oldest flight; all of them when nothing is in flight.
func (q *Queue) trim() {
	n := len(q.events)
	if front := q.order.Front(); front != nil {
		n = oldest(front) - q.base
	}
	q.base += n
	rest := q.events[n:]
	if len(rest) == 0 {
		q.events = nil
		return
	}
	clear(q.events[:n])
	q.events = rest
}

func oldest(front *list.Element) int { return front.Value.(*flight).from }

// record logs an event for the pods in flight, if there are any. With Legacy.CycleCounter there are none.
func (q *Queue) record(c Change) {
	if q.order.Len() > 0 {
		q.events = append(q.events, c)
	}
}

// during returns the events logged since the pod was popped.
func (q *Queue) during(f *flight) []Change { return q.events[f.from-q.base:] }

// InFlightEvents returns the number of events of each label in the log for the pods in flight, and the number of pods in
// flight under the label "PodPopped": the metric scheduler_inflight_events (Q12.4). O(events in the log).
func (q *Queue) InFlightEvents() map[string]int {
	n := map[string]int{}
	if q.order.Len() > 0 {
		n[podPopped] = q.order.Len()
	}
	for i := range q.events {
		n[q.events[i].Event.String()]++
	}
	return n
}
