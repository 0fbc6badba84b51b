package queue

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// Pop takes the next pod for an attempt: the head of active or, when nothing is active, the head of backoff, even when that
// pod has to rest longer (its gates are not asked again). Pop never takes pods from error backoff. The entry is nil when
// there is no pod to try. The caller must end each attempt with one call of Return or Done, and that of a root ([Entry.Members]) with
// ReturnRoot. Pop drops an entry whose UID is
// in flight already and takes the next entry. O(log n).
func (q *Queue) Pop(now time.Time) (*Entry, []Move) {
	q.see(now)
	for {
		e := q.heaps[Active].head()
		if e == nil && !q.o.Legacy.WaitOutBackoff && !q.o.Legacy.CycleCounter {
			if e = q.heaps[Backoff].head(); e != nil {
				q.take(e)
				q.put(e, Active, cause{reason: popFromBackoff}, now)
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

// pop takes an active entry into flight and returns false when the pod is in flight already.
func (q *Queue) pop(e *Entry, now time.Time) bool {
	if e.Members != nil {
		q.popRoot(e, now)
		return true
	}
	q.take(e)
	delete(q.entries, keyOf(e.Pod))
	e.Attempts++
	e.since = now
	if q.flightOf(e.Pod) != nil {
		e.place = Nowhere
		q.out = append(q.out, cause{reason: duplicate}.move(e, Active, Nowhere))
		return false
	}
	q.cycle++
	e.place = InFlight
	if q.o.forgetsAtPop() {
		e.Rejecters, e.PendingPlugins, e.GatingPlugin, e.GateMessage, e.GateErr = nil, nil, "", "", nil
		e.resolve()
	}
	if !q.o.Legacy.CycleCounter {
		q.takeOff(e)
	}
	q.out = append(q.out, cause{reason: podPopped}.move(e, Active, InFlight))
	return true
}

// PopPod activates and pops the given pod, wherever it is queued. The entry is nil when the pod is nil, is not queued or
// stays gated. Schedulers of pod groups need PopPod.
func (q *Queue) PopPod(pod *v1.Pod, now time.Time) (*Entry, []Move) {
	if pod == nil {
		return nil, nil
	}
	q.see(now)
	e := q.entryOf(pod)
	if e == nil {
		return nil, nil
	}
	q.activate(e, now)
	if e.place != Active || !q.pop(e, now) {
		return nil, q.moves()
	}
	return e, q.moves()
}

// Done ends the attempt of a popped pod that the caller does not return: the pod was bound, or is gone, or is skipped. The
// only move is from [InFlight] to [Nowhere]. The queue stops logging events for the pod. Done ignores a nil or unknown pod, so
// a second call does nothing. O(1).
func (q *Queue) Done(pod *v1.Pod) []Move {
	if pod == nil {
		return nil
	}
	if f := q.land(pod); f != nil {
		f.entry.place = Nowhere
		q.out = append(q.out, cause{reason: attemptDone}.move(f.entry, InFlight, Nowhere))
	}
	return q.moves()
}

// Failure says how an attempt ended. The zero value is an attempt that an error ended.
type Failure struct {
	// Unschedulable and Pending name the plugins that rejected the pod, by status. Both are empty when an error ended the
	// attempt: a plugin failed, there are no nodes, or the binding failed. The pod then rests in ErrorBackoff, and the end
	// of the backoff alone makes it active.
	Rejecters, Pending []string
	// Pod is the present version of the pod, as the pod store has it. The queue does not collect updates of pods in flight.
	// nil keeps the popped version. Pod must have the popped pod's namespace, name and UID; up to
	// v1.35 the UID may be another (rule L9.4).
	Pod *v1.Pod
	// Nomination is applied after the pod has its new place. The zero value keeps what status.nominatedNodeName says.
	Nomination Nomination
	// Cycle is read by Legacy.CycleCounter only: the scheduling cycle that the pod's attempt counts as. The first Pop begins cycle 1,
	// and each later Pop that returns a pod begins the next. 0 is the cycle of the last Pop, which is what v1.27 passed.
	Cycle int64
}

// Return puts a popped pod back after a failed attempt. The first line that holds decides:
//
//  1. No plugin rejected the pod: error backoff.
//  2. Done was called before: backoff.
//  3. An event during the attempt concerns the pod: backoff, or active when a pending plugin wants the pod.
//  4. Otherwise: unschedulable.
//
// The pod goes to active instead of backoff when MaxBackoff is zero, and to gated instead of either when a gate refuses the
// pod. Return ends the attempt in every case. It does not put back a pod that was deleted in flight. Errors: [ErrNoPod] for a
// nil entry, [ErrQueued] when a pod of that name is queued, [ErrOtherPod] when [Failure.Pod] is another pod. O(log n).
func (q *Queue) Return(e *Entry, f Failure, now time.Time) ([]Move, error) {
	if e == nil || e.Pod == nil {
		return nil, ErrNoPod
	}
	q.see(now)
	if e.profile == nil { // the caller made the entry
		q.setPod(e, e.Pod)
	}
	if f.Pod != nil && (keyOf(f.Pod) != keyOf(e.Pod) || f.Pod.UID != e.Pod.UID && !q.o.takesRecreated()) {
		return q.Done(e.Pod), otherPod(e.Pod, f.Pod)
	}
	if queued := q.lookup(keyOf(e.Pod)); queued != nil {
		return q.Done(e.Pod), alreadyPresent(queued)
	}
	popped := e.Pod
	fl := q.flightOf(popped)
	if fl != nil && fl.deleted {
		q.land(popped)
		e.place = Nowhere
		q.out = append(q.out, cause{reason: podDeleted}.move(e, InFlight, Nowhere))
		return q.moves(), nil
	}
	from := Nowhere
	if fl != nil || q.o.Legacy.CycleCounter {
		from = InFlight
	}
	e.place = from
	q.fail(e, &f, now)
	if q.grouped(e.Pod) {
		q.land(popped)
		q.home(e, cause{reason: scheduleAttemptFailure}, now)
		q.nom.Nominate(e.Pod, f.Nomination)
		return q.moves(), nil
	}
	v, by, err := q.strategy(e, fl, &f)
	c := cause{scheduleAttemptFailure, by, err}
	var tick uint64
	if fl != nil {
		tick = fl.tick
		q.land(popped)
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

// fail writes a failed attempt into the entry.
func (q *Queue) fail(e *Entry, f *Failure, now time.Time) {
	if f.Pod != nil {
		q.setPod(e, f.Pod)
	}
	e.Rejecters, e.PendingPlugins = rejecters(append(f.Rejecters[:len(f.Rejecters):len(f.Rejecters)], f.Pending...)), rejecters(f.Pending)
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
	e.WasFlushed, e.flushAt = false, time.Time{}
	e.GatingPlugin, e.GateMessage, e.GateErr = "", "", nil
	e.BackoffExpiration = q.expiry(e)
}

func (q *Queue) strategy(e *Entry, fl *flight, f *Failure) (verdict, *plugin, error) {
	cycle := f.Cycle
	if cycle == 0 {
		cycle = q.cycle
	}
	switch {
	case q.o.Legacy.CycleCounter && q.moveCycle < cycle:
		return skip, nil, nil
	case q.o.Legacy.CycleCounter, len(e.waits) == 0, fl == nil:
		return afterBackoff, nil, nil
	case q.o.GangScheduling && e.Pod.Spec.SchedulingGroup != nil:
		return afterBackoff, nil, nil
	}
	return q.judgeFlight(e, q.during(fl))
}

// Activate sends pods to active at once, before their backoff ends. Unschedulable and gated pods go unless a gate refuses
// them; pods in backoff go without asking the gates. For a pod in flight the queue logs the call: the pod's Return goes to
// backoff instead of unschedulable. Activate ignores active, unknown and nil pods.
func (q *Queue) Activate(now time.Time, pods ...*v1.Pod) []Move {
	q.see(now)
	for _, pod := range pods {
		if pod == nil {
			continue
		}
		if e := q.entryOf(pod); e != nil && e.place != Active {
			if q.activate(e, now); e.place == Active {
				continue
			}
		}
		if q.flightOf(pod) != nil { // a newer pod of this name may have an entry too
			q.record(Change{Event: forceActivate, New: pod})
		}
	}
	return q.moves()
}

// activate sends an entry to active, unless a gate refuses its pod.
func (q *Queue) activate(e *Entry, now time.Time) {
	switch e.place {
	case Unschedulable, Gated:
		q.requeue(e, immediate, cause{reason: forceActivate.String()}, now)
	case Backoff, ErrorBackoff:
		q.take(e)
		to, c := Active, cause{reason: forceActivate.String()}
		if q.o.gatesBackoff() {
			if refused, by := q.gate(e); refused {
				to, c.plugin, c.err = Gated, by, e.GateErr
			}
		}
		q.put(e, to, c, now)
	}
}
