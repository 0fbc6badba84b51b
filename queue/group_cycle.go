package queue

import (
	"math"
	"slices"
	"time"

	"github.com/podberth/podberth/podgroup"
)

// RootOutcome says how the attempt of a root ended.
type RootOutcome uint8

// The outcomes of a root, before preemption.
const (
	// RootFailed: an error ended the attempt.
	RootFailed RootOutcome = iota
	// RootUnschedulable: the members that are needed found no nodes.
	RootUnschedulable
	// RootScheduled: the members that are needed found nodes.
	RootScheduled
)

// RootResult is how the attempt of a root ended.
type RootResult struct {
	Outcome RootOutcome
	// Failed are the members that have no node, each as Return would get it. All others are bound by their own, and end with Done or
	// Return.
	Failed []MemberFailure
}

// MemberFailure is a member that returns to the queue.
type MemberFailure struct {
	Entry *Entry
	Failure
}

// popRoot takes a root with its members into flight.
func (q *Queue) popRoot(root *Entry, now time.Time) {
	q.take(root)
	delete(q.entries, keyOf(root.Pod))
	root.Attempts++
	root.since, root.place = now, InFlight
	q.cycle++
	q.cycling = root
	members := root.Members[:0]
	for _, e := range root.Members {
		delete(q.members, keyOf(e.Pod))
		e.Attempts++
		e.root, e.place, e.since = nil, InFlight, now
		if q.flightOf(e.Pod) != nil {
			e.place = Nowhere
			q.out = append(q.out, cause{reason: duplicate}.move(e, Active, Nowhere))
			continue
		}
		q.takeOff(e)
		members = append(members, e)
	}
	root.Members = members
	q.out = append(q.out, cause{reason: podPopped}.move(root, Active, InFlight))
}

// ReturnRoot ends the attempt of a root that Pop returned. Members that failed, and pods of the tree that came during the attempt, make
// the root's next entry:
//
//   - after [RootScheduled] it is active at once, and forgets its failures;
//   - otherwise it rests in [ErrorBackoff], longer with each failure and by the square root of the number of its members.
//
// A gate may hold it instead. Without such pods the root goes. Errors: [ErrNoPod] for nil, [ErrNotTried] for an entry that is not the root
// in flight. O(members).
func (q *Queue) ReturnRoot(root *Entry, r RootResult, now time.Time) ([]Move, error) {
	if root == nil || root.Pod == nil {
		return nil, ErrNoPod
	}
	if root != q.cycling {
		return nil, notTried(root.Pod)
	}
	q.see(now)
	q.cycling = nil
	late := root.late
	root.Members, root.late = nil, nil
	kept := false
	for _, f := range r.Failed {
		kept = q.returnMember(root, f, now) || kept
	}
	for _, e := range late {
		e.root = nil
		q.rejoin(root, e, now)
	}
	if len(root.Members) == 0 {
		root.place = Nowhere
		q.out = append(q.out, cause{reason: attemptDone}.move(root, InFlight, Nowhere))
		return q.moves(), nil
	}
	sortMembers(root.Members)
	if r.Outcome != RootScheduled || !kept {
		q.seq++
		root.seq, root.Timestamp = q.seq, now
	}
	v := afterBackoff
	switch r.Outcome {
	case RootScheduled:
		root.UnschedulableCount, root.ConsecutiveErrorsCount, root.BackoffExpiration = 0, 0, time.Time{}
		v = immediate
	case RootUnschedulable:
		root.UnschedulableCount++
		root.ConsecutiveErrorsCount = 0
	default:
		root.ConsecutiveErrorsCount++
	}
	root.WasFlushed, root.flushAt = false, time.Time{}
	if v == afterBackoff {
		root.BackoffExpiration = q.expiry(root)
	}
	q.requeue(root, v, cause{reason: scheduleAttemptFailure}, now)
	return q.moves(), nil
}

// returnMember ends the attempt of a member that failed. It reports whether the member is one of the root's next entry.
func (q *Queue) returnMember(root *Entry, f MemberFailure, now time.Time) bool {
	e := f.Entry
	if e == nil || e.place != InFlight {
		return false
	}
	fl := q.land(e.Pod)
	e.place = Nowhere
	if fl == nil || fl.deleted || q.members[keyOf(e.Pod)] != nil {
		return false
	}
	q.fail(e, &f.Failure, now)
	q.rejoin(root, e, now)
	q.nom.Nominate(e.Pod, f.Nomination)
	return e.root == root
}

// rejoin makes a pod a member of a root that returns, or of another one, or incomplete, by the present groups.
func (q *Queue) rejoin(root, e *Entry, now time.Time) {
	stand, err := q.standIn(e.Pod)
	if err != nil || keyOf(stand) != keyOf(root.Pod) {
		q.home(e, cause{reason: scheduleAttemptFailure}, now)
		return
	}
	if len(root.Members) == 0 {
		q.setRoot(root, stand)
	}
	q.members[keyOf(e.Pod)] = e
	e.root, e.since, root.Members = root, now, append(root.Members, e)
}

// longest returns the longest rest of an entry.
func (q *Queue) longest(e *Entry) time.Duration {
	if e.Members == nil {
		return q.max
	}
	return time.Duration(float64(q.max) * math.Sqrt(float64(len(e.Members))))
}

// gateMembers is gate for a root: the gates of all members are asked, and the last member that is refused says which gate holds the
// root.
func (q *Queue) gateMembers(root *Entry) (refused bool, by *plugin) {
	root.GatingPlugin, root.GateMessage, root.GateErr, root.Rejecters = "", "", nil, nil
	q.gang = map[string]GateVerdict{}
	defer func() { q.gang = nil }()
	var last *Entry
	for _, e := range root.Members {
		if q.holdsStill(e) {
			last = e
		} else if no, _ := q.gate(e); no {
			last = e
		}
	}
	if refused = last != nil; refused {
		root.GatingPlugin, root.GateMessage, root.GateErr, root.Rejecters = last.GatingPlugin, last.GateMessage, last.GateErr, []string{last.GatingPlugin}
	}
	root.resolve()
	if refused {
		by = root.profile.plugin(root.GatingPlugin)
	}
	return refused, by
}

// holdsStill reports whether the gate of gangs has said of a member's group what it said when it held the member: asked again, it would
// hold the member first and say the same.
func (q *Queue) holdsStill(e *Entry) bool {
	if e.GatingPlugin != pluginGang || e.GateErr != nil {
		return false
	}
	group, _ := podgroup.Of(e.Pod)
	v, known := q.gang[group]
	return known && v.Refuse && v.Err == nil && v.Message == e.GateMessage
}

// pends reports whether an event may make a pod worth a retry at once.
func (e *Entry) pends() bool {
	return slices.ContainsFunc(e.waits, func(w wait) bool { return w.pending })
}

// judgeMembers is judge for a root: the best verdict of its members.
func (q *Queue) judgeMembers(root *Entry, c *Change) (best verdict, by *plugin, why error) {
	for _, e := range root.Members {
		if best == immediate || best == afterBackoff && !e.pends() || c.PreCheck != nil && !c.PreCheck(e.Pod) {
			continue
		}
		if v, p, err := q.judge(e, c); v > best {
			best, by, why = v, p, err
		}
	}
	return best, by, why
}
