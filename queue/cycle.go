package queue

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// Pop takes the next pod for an attempt: the head of active or, when nothing is active, the head of backoff, however long
// it would still rest (its gates are not asked again). Pods in error backoff are never popped early. The entry is nil when
// there is nothing to try. The caller owes the pod exactly one Return or Done. An entry whose UID is in flight already is
// dropped and the next one taken.
func (q *Queue) Pop(now time.Time) (*Entry, []Move) {
	q.see(now)
	for {
		e := q.heaps[Active].head()
		if e == nil && !q.o.WaitOutBackoff && !q.o.CycleCounter {
			if e = q.heaps[Backoff].head(); e != nil {
				q.take(e)
				q.put(e, Active, cause{reason: PopFromBackoff}, now)
			}
		}
		if e == nil {
			return nil, q.moves()
		}
		if q.pop(e, now) {
			return e, q.moves()
		}
	}
}

// pop takes an active entry into flight; false when the pod is there already.
func (q *Queue) pop(e *Entry, now time.Time) bool {
	q.take(e)
	delete(q.entries, keyOf(e.Pod))
	e.Attempts++
	e.since = now
	if q.flightOf(e.Pod) != nil {
		e.place = Nowhere
		q.out = append(q.out, cause{reason: Duplicate}.move(e, Active, Nowhere))
		return false
	}
	q.cycle++
	e.place = InFlight
	if !q.o.CycleCounter {
		q.takeOff(e)
	}
	q.out = append(q.out, cause{reason: PodPopped}.move(e, Active, InFlight))
	return true
}

// PopPod takes a certain pod: it is activated and popped, wherever it stands. The entry is nil when the pod is not queued,
// or stays gated. Schedulers of pod groups need it.
func (q *Queue) PopPod(pod *v1.Pod, now time.Time) (*Entry, []Move) {
	if pod == nil {
		return nil, nil
	}
	q.see(now)
	e := q.entries[keyOf(pod)]
	if e == nil {
		return nil, nil
	}
	q.activate(e, now)
	if e.place != Active || !q.pop(e, now) {
		return nil, q.moves()
	}
	return e, q.moves()
}

// Done ends the attempt of a popped pod that is not returned: it was bound, or is gone, or is skipped. From then on events
// are not logged for it. An unknown or nil pod is ignored, so calling it twice is harmless.
func (q *Queue) Done(pod *v1.Pod) []Move {
	if pod == nil {
		return nil
	}
	if f := q.land(pod); f != nil {
		f.entry.place = Nowhere
		q.out = append(q.out, cause{reason: AttemptDone}.move(f.entry, InFlight, Nowhere))
	}
	return q.moves()
}

// Failure is how an attempt ended.
type Failure struct {
	// Unschedulable and Pending name the plugins that rejected the pod, by status. Both empty means an error: something
	// went wrong, or there are no nodes, or binding failed; the pod rests and is tried again without an event.
	Unschedulable, Pending []string
	// Pod is the present version, as the pod store has it; nil keeps the popped one, for the queue does not collect the
	// updates of pods in flight. It must have the popped pod's name and UID.
	Pod *v1.Pod
	// Nomination is applied when the pod has been placed; the zero value keeps what status.nominatedNodeName says.
	Nomination Nomination
	// Cycle is read by CycleCounter only: the scheduling cycle that the pod's attempt counts as. kube-scheduler of that
	// time passed Queue.Cycle() at the moment of the return.
	Cycle int64
}

// Return puts a popped pod back after a failed attempt:
//
//	no rejecting plugin                        error backoff
//	Done was called before                     backoff
//	an event of the attempt concerns it        backoff; active when a pending plugin wants it
//	otherwise                                  unschedulable
//
// active instead of backoff where MaxBackoff is zero, gated instead of either when a gate refuses. The attempt is done in
// every case. A pod deleted in flight is not put back. The error tells that a pod of that name is queued already, which
// leaves that pod as it is, or that the entry or Failure.Pod is not a popped pod's.
func (q *Queue) Return(e *Entry, f Failure, now time.Time) ([]Move, error) {
	if e == nil || e.Pod == nil {
		return nil, errNoPod
	}
	q.see(now)
	if f.Pod != nil && (keyOf(f.Pod) != keyOf(e.Pod) || f.Pod.UID != e.Pod.UID) {
		return q.Done(e.Pod), twoNames(e.Pod, f.Pod)
	}
	if queued := q.entries[keyOf(e.Pod)]; queued != nil {
		return q.Done(e.Pod), alreadyPresent(queued)
	}
	fl := q.flightOf(e.Pod)
	if fl != nil && fl.deleted {
		q.land(e.Pod)
		e.place = Nowhere
		q.out = append(q.out, cause{reason: PodDeleted}.move(e, InFlight, Nowhere))
		return q.moves(), nil
	}
	from := Nowhere
	if fl != nil || q.o.CycleCounter {
		from = InFlight
	}
	e.place = from
	q.fail(e, &f, now)
	v, by, err := q.strategy(e, fl, &f)
	c := cause{ScheduleAttemptFailure, by, err}
	var tick uint64
	if fl != nil {
		tick = fl.tick
		q.land(e.Pod)
	}
	if v == skip {
		q.put(e, Unschedulable, c, now)
	} else {
		q.requeue(e, v, c, now)
	}
	q.nom.Nominate(e.Pod, f.Nomination)
	if v == skip {
		q.shareFailure(e, tick, now)
	}
	return q.moves(), nil
}

// fail books a failed attempt.
func (q *Queue) fail(e *Entry, f *Failure, now time.Time) {
	if f.Pod != nil {
		q.setPod(e, f.Pod)
	}
	e.UnschedulablePlugins, e.PendingPlugins = rejectors(append(f.Unschedulable[:len(f.Unschedulable):len(f.Unschedulable)], f.Pending...)), rejectors(f.Pending)
	e.resolve()
	if len(e.waits) == 0 {
		e.ConsecutiveErrorsCount++
	} else {
		e.UnschedulableCount++
		e.ConsecutiveErrorsCount = 0
	}
	q.seq++
	e.seq = q.seq
	e.Timestamp = now
	e.WasFlushed = false
	e.GatingPlugin, e.GateMessage, e.GateErr = "", "", nil
	e.BackoffExpiration = q.expiry(e)
}

func (q *Queue) strategy(e *Entry, fl *flight, f *Failure) (verdict, *plugin, error) {
	switch {
	case q.o.CycleCounter && q.moveCycle < f.Cycle:
		return skip, nil, nil
	case q.o.CycleCounter, len(e.waits) == 0, fl == nil:
		return afterBackoff, nil, nil
	case q.o.GangScheduling && e.Pod.Spec.SchedulingGroup != nil:
		return afterBackoff, nil, nil
	}
	return q.judgeFlight(e, q.during(fl))
}

func twoNames(a, b *v1.Pod) error {
	return fmt.Errorf("queue: pod %s (UID %q) and pod %s (UID %q) are not versions of one pod", keyOf(a), a.UID, keyOf(b), b.UID)
}

func alreadyPresent(e *Entry) error {
	where := "the active"
	switch e.place {
	case Unschedulable, Gated:
		where = "unschedulable"
	case Backoff, ErrorBackoff:
		where = "the backoff"
	}
	//lint:ignore ST1005 the text is kube-scheduler's
	return fmt.Errorf("Pod %s is already present in %s queue", podName(e.Pod), where)
}

// podName is namespace/name, the name alone without a namespace.
func podName(pod *v1.Pod) string {
	if pod.Namespace == "" {
		return pod.Name
	}
	return podinfo.Name(pod)
}

// Activate sends pods to active at once, however long they would rest: waiting pods unless a gate refuses, backing off
// pods without asking the gates. For a pod in flight it is remembered: its Return goes to backoff instead of
// unschedulable. Active, unknown and nil pods are ignored.
func (q *Queue) Activate(now time.Time, pods ...*v1.Pod) []Move {
	q.see(now)
	for _, pod := range pods {
		if pod == nil {
			continue
		}
		if e := q.entries[keyOf(pod)]; e != nil && e.place != Active {
			if q.activate(e, now); e.place == Active {
				continue
			}
		}
		if q.flightOf(pod) != nil { // perhaps besides an entry of its name
			q.record(Change{Event: ForceActivate, New: pod})
		}
	}
	return q.moves()
}

// activate reports whether it made the entry active.
func (q *Queue) activate(e *Entry, now time.Time) bool {
	switch e.place {
	case Active:
		return false
	case Unschedulable, Gated:
		q.requeue(e, immediate, cause{reason: ForceActivate.String()}, now)
	case Backoff, ErrorBackoff:
		q.take(e)
		q.put(e, Active, cause{reason: ForceActivate.String()}, now)
	}
	return e.place == Active
}

// Cycle returns the number of pops so far, dropped duplicates not counted.
func (q *Queue) Cycle() int64 { return q.cycle }
