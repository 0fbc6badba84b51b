package queue

import "time"

// Advance sets the queue's time to now and releases the pods whose backoff has ended. Every 30 s (LeftoverPeriod, counted from
// the first time that the queue saw) Advance also moves leftovers: pods that have been unschedulable for more than 5 minutes
// (Leftover). One late call makes up for missed calls. Call Advance at Next, or every second. After a clock jumps back, pods
// only wait longer. O(log n) for each pod that moves.
func (q *Queue) Advance(now time.Time) []Move {
	q.see(now)
	q.flushBackoff(now)
	n := q.grid(now)
	if n > q.lastFlush {
		q.flushLeftover(q.anchor.Add(time.Duration(n)*q.period), now)
	}
	q.lastFlush = n
	return q.moves()
}

// grid returns the number of the last leftover flush that is due at t; the start of the clock is number 0.
func (q *Queue) grid(t time.Time) int64 {
	d := t.Sub(q.anchor)
	n := int64(d / q.period)
	if d < 0 && d%q.period != 0 {
		n--
	}
	return n
}

// flushBackoff makes the pods active whose backoff has ended.
func (q *Queue) flushBackoff(now time.Time) {
	for _, place := range []Place{Backoff, ErrorBackoff} {
		for {
			e := q.heaps[place].head()
			if e == nil || q.backingOff(e, now) {
				break
			}
			q.take(e)
			to, c := Active, cause{reason: backoffComplete}
			if q.o.Legacy.CycleCounter {
				if refused, by := q.gate(e); refused {
					to, c.plugin, c.err = Gated, by, e.GateErr
				}
			}
			q.put(e, to, c, now)
		}
	}
}

func (q *Queue) overdue(e *Entry, at time.Time) bool { return at.Sub(e.waitsSince()) > q.leftover }

// flushLeftover moves the unschedulable pods that came to the queue more than Leftover before at as if an event had woken
// them. at may be before now. Gated pods are marked (WasFlushed) but stay, unless FlushGated. A flush that finds a pod, gated
// or not, concerns every pod in flight: when it is rejected, it goes to backoff.
func (q *Queue) flushLeftover(at, now time.Time) {
	c := Change{Event: unschedulableTimeout}
	reason := cause{reason: c.Event.String()}
	gated := q.overdueGated(at)
	found := len(gated) > 0
	for {
		e := q.heaps[Unschedulable].head()
		if e == nil || !q.overdue(e, at) {
			break
		}
		found = true
		q.flushed(e, at)
		q.requeue(e, afterBackoff, reason, now)
		q.held(e)
	}
	for _, e := range gated {
		q.flushed(e, at)
		if q.flushesGate(e) {
			q.requeue(e, afterBackoff, reason, now)
			q.held(e)
		}
	}
	if !found {
		return
	}
	q.moveCycle = q.cycle
	q.record(c) // pods in flight take it as an event that concerns them
}

// overdueGated returns the gated pods that are overdue. O(them): the heap has the oldest on top.
func (q *Queue) overdueGated(at time.Time) (found []*Entry) {
	items := q.heaps[Gated].items
	var visit func(i int)
	visit = func(i int) {
		if i < len(items) && q.overdue(items[i], at) {
			found = append(found, items[i])
			visit(2*i + 1)
			visit(2*i + 2)
		}
	}
	visit(0)
	return found
}

// flushesGate reports whether the leftover flush asks the gate of a gated entry again.
func (q *Queue) flushesGate(e *Entry) bool {
	return q.o.flushesGates() || q.gateHears(e.GatingPlugin, unschedulableTimeout)
}

// gateHearsWildcard reports whether a gate registered the wildcard event, so that flushes concern its pods.
func (q *Queue) gateHearsWildcard() bool {
	for _, p := range q.profiles {
		for _, g := range p.gates {
			if q.gateHears(g.Name, unschedulableTimeout) {
				return true
			}
		}
	}
	return false
}

// Next returns the first time, now or later, at which Advance moves a pod or asks a gate again. It returns false when only
// events can move pods. O(1); O(gated pods) with FlushGated.
func (q *Queue) Next(now time.Time) (time.Time, bool) {
	var next time.Time
	found := false
	at := func(t time.Time) {
		if t.Before(now) {
			t = now
		}
		if !found || t.Before(next) {
			next, found = t, true
		}
	}
	for _, place := range []Place{Backoff, ErrorBackoff} {
		if e := q.heaps[place].head(); e != nil {
			at(q.free(e))
		}
	}
	if e := q.heaps[Unschedulable].head(); e != nil {
		at(q.leftoverTime(e))
	}
	if q.o.flushesGates() || q.gateHearsWildcard() {
		for _, e := range q.heaps[Gated].items {
			if q.flushesGate(e) {
				at(q.leftoverTime(e))
			}
		}
	}
	return next, found
}

// leftoverTime returns the time of the first flush that takes e if e waits until then.
func (q *Queue) leftoverTime(e *Entry) time.Time {
	n := q.grid(e.waitsSince().Add(q.leftover)) + 1
	return q.anchor.Add(time.Duration(n) * q.period)
}
