package queue

import (
	"fmt"
	"iter"
	"slices"
	"sort"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Status is what an overview of the queue says about one pod.
type Status struct {
	Pod       *v1.Pod
	Place     Place
	Since     time.Time // when the pod came to its place
	Timestamp time.Time // when the pod was added or last returned: the second key of the order
	Attempts  int
	// Until is when the pod leaves its place by time alone: the end of its backoff, or the leftover flush. Zero: never.
	Until time.Time
	// Rejecters are the plugins that rejected or gated the pod, sorted. Gate is the gate that holds the pod now, "" for none.
	Rejecters []string
	Gate      string
	Nominated string // node, "" for none
}

// Explanation is everything the queue knows about a pod.
type Explanation struct {
	Status
	// Found is false for a pod that is neither queued nor in flight; everything else is then zero but Status.Pod.
	Found bool
	// Ahead is the number of pods that Pop takes before an active pod.
	Ahead int
	// UnschedulableCount and ConsecutiveErrorsCount count the pod's failures. Backoff is the length of rest that follows from
	// them.
	UnschedulableCount, ConsecutiveErrorsCount int
	Backoff                                    time.Duration
	// Pending are the rejecters that let the pod skip its backoff.
	Pending     []string
	GateMessage string
	GateErr     error
	WasFlushed  bool
	// Waits are the events that would move an unschedulable pod. For a gated pod they are the events that its gate registered
	// in any profile; the queue then asks the gate again if one of the pod's rejecters wants the event, too.
	Waits []Wait
	// AnyEvent reports whether every event that some plugin registered moves the pod.
	AnyEvent bool
	// Logged is the number of events that arrived during the running attempt. Concern has those events for which the pod would
	// go to backoff or active if the same plugins as last time rejected it.
	Logged  int
	Concern []Event
}

// Wait is an event that a pod waits for.
type Wait struct {
	Plugin string
	Event  Event
	// Hinted reports whether the plugin has a hint, which decides. Without a hint every such event moves the pod.
	Hinted bool
	// Pending reports whether the plugin moves the pod to active without backoff.
	Pending bool
}

func (q *Queue) status(e *Entry, now time.Time) Status {
	s := Status{Pod: e.Pod, Place: e.place, Since: e.since, Timestamp: e.Timestamp, Attempts: e.Attempts,
		Rejecters: slices.Clone(e.Rejecters), Gate: e.GatingPlugin, Nominated: q.nom.Node(e.Pod)}
	if at := e.root; at != nil {
		s = q.status(at, now)
		s.Pod, s.Place, s.Timestamp, s.Attempts, s.Nominated = e.Pod, e.Place(), e.Timestamp, e.Attempts, q.nom.Node(e.Pod)
		s.Rejecters = slices.Clone(e.Rejecters)
		return s
	}
	switch e.place {
	case Backoff, ErrorBackoff:
		s.Until = laterOf(q.free(e), now)
	case Unschedulable:
		s.Until = laterOf(q.leftoverTime(e), now)
	case Gated:
		if q.flushesGate(e) {
			s.Until = laterOf(q.leftoverTime(e), now)
		}
	}
	return s
}

func laterOf(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Explain returns where a pod is, since when, and what would move the pod. Found is false for nil and unknown pods. O(1); for
// an active pod O(active pods); for a pod in flight O(events during the attempt).
func (q *Queue) Explain(pod *v1.Pod, now time.Time) Explanation {
	x := Explanation{}
	x.Pod = pod
	if pod == nil {
		return x
	}
	e := q.lookup(keyOf(pod))
	f := q.flightOf(pod)
	if e == nil && f != nil {
		e = f.entry
	}
	if e == nil {
		return x
	}
	x = Explanation{Status: q.status(e, now), Found: true, Pending: e.PendingPlugins, GateMessage: e.GateMessage, GateErr: e.GateErr,
		WasFlushed: e.WasFlushed, UnschedulableCount: e.UnschedulableCount, ConsecutiveErrorsCount: e.ConsecutiveErrorsCount,
		Backoff: q.duration(e)}
	at := e
	if e.root != nil {
		at = e.root
		if e.GatingPlugin == "" { // another member holds the root
			x.GateMessage, x.GateErr = at.GateMessage, at.GateErr
		}
	}
	switch e.Place() {
	case Active:
		for _, other := range q.heaps[Active].items {
			if q.heaps[Active].less(other, at) {
				x.Ahead += max(1, len(other.Members))
			}
		}
	case Unschedulable, Gated:
		x.Waits = q.waitsOf(at)
		x.AnyEvent = e.place == Unschedulable && e.wakesAlways()
	case InFlight:
		if f != nil {
			events := q.during(f)
			x.Logged = len(events)
			for i := range events {
				if v, _, _ := q.judge(e, &events[i]); v != skip {
					x.Concern = append(x.Concern, events[i].Event)
				}
			}
		}
	}
	return x
}

func (q *Queue) waitsOf(e *Entry) []Wait {
	var waits []Wait
	if e.place == Gated {
		for _, p := range q.profiles {
			if pl := p.plugins[e.GatingPlugin]; pl != nil {
				waits = appendWaits(waits, pl, false)
			}
		}
		return waits
	}
	for i := range e.waits {
		waits = appendWaits(waits, e.waits[i].plugin, e.waits[i].pending)
	}
	return waits
}

func appendWaits(waits []Wait, p *plugin, pending bool) []Wait {
	for _, r := range p.rows {
		waits = append(waits, Wait{Plugin: p.name, Event: r.Event, Hinted: r.Hint != nil, Pending: pending})
	}
	return waits
}

// String returns the explanation as text, one fact a line. It is "no pod" when the pod is nil.
func (x Explanation) String() string {
	if x.Pod == nil {
		return "no pod"
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if !x.Found {
		return podName(x.Pod) + " is not in the queue\n"
	}
	line("%s is %v since %s, %d attempts", podName(x.Pod), x.Place, x.Since.UTC().Format(time.RFC3339Nano), x.Attempts)
	if len(x.Rejecters) > 0 {
		line("rejected by %s", strings.Join(x.Rejecters, ", "))
	}
	if x.Gate != "" {
		line("gated by %s: %s", x.Gate, x.GateMessage)
	}
	if x.Nominated != "" {
		line("nominated for node %s", x.Nominated)
	}
	switch x.Place {
	case Active:
		line("%d pods are ahead", x.Ahead)
	case Backoff, ErrorBackoff:
		line("backoff of %v, free at %s", x.Backoff, x.Until.UTC().Format(time.RFC3339Nano))
	case InFlight:
		line("%d events during the attempt, %d of them concern it", x.Logged, len(x.Concern))
	}
	if x.AnyEvent {
		line("moved by any event that is registered")
	}
	for _, w := range x.Waits {
		how := "always"
		if w.Hinted {
			how = "if the plugin agrees"
		}
		line("moved by %v, %s (%s)", w.Event, how, w.Plugin)
	}
	if x.Place == Unschedulable || x.Place == Gated {
		if x.Until.IsZero() {
			line("not moved by time")
		} else {
			line("tried again at %s in any case", x.Until.UTC().Format(time.RFC3339Nano))
		}
	}
	return b.String()
}

// All returns every pod of the queue, in this order, as a new slice. O(n log n).
//
//  1. Active pods, in the order in which Pop takes them.
//  2. Pods in backoff, then pods in error backoff, by the end of their rest.
//  3. Unschedulable pods, then gated pods, by Timestamp.
//  4. Pods in flight, in the order in which Pop took them.
//  5. Incomplete and pending members of groups, by arrival.
//
// The members of a group stand together, in the place of their root.
func (q *Queue) All(now time.Time) []Status {
	all := make([]Status, 0, len(q.entries)+q.order.Len())
	for place := Active; place <= Gated; place++ {
		items := slices.Clone(q.heaps[place].items)
		sort.Slice(items, func(i, j int) bool { return q.heaps[place].less(items[i], items[j]) })
		for _, e := range items {
			if e.Members == nil {
				all = append(all, q.status(e, now))
			}
			for _, m := range e.Members {
				all = append(all, q.status(m, now))
			}
		}
	}
	for el := q.order.Front(); el != nil; el = el.Next() {
		all = append(all, q.status(el.Value.(*flight).entry, now))
	}
	var rest []*Entry
	for _, e := range q.members {
		if e.Place() == Incomplete || e.Place() == Pending {
			rest = append(rest, e)
		}
	}
	sort.Slice(rest, func(i, j int) bool { return rest[i].seq < rest[j].seq })
	for _, e := range rest {
		all = append(all, q.status(e, now))
	}
	return all
}

// Counts has the number of pods in each place: the metric scheduler_pending_pods (Q12.1), and the pods in flight, which that
// metric does not count. Backoff covers backoff and error backoff.
type Counts struct {
	Active, Backoff, Unschedulable, Gated, InFlight int
	Incomplete, Pending                             int // members of groups
}

// Counts returns the number of pods in each place. With [Legacy.CycleCounter] the queue does not know the pods in flight. O(1), and
// O(members of groups that wait).
func (q *Queue) Counts() Counts {
	n := func(p Place) int { return len(q.heaps[p].items) }
	c := Counts{Active: n(Active), Backoff: n(Backoff) + n(ErrorBackoff), Unschedulable: n(Unschedulable), Gated: n(Gated), InFlight: q.order.Len()}
	if len(q.members) == 0 {
		return c
	}
	for root := range q.roots() {
		*c.at(root.place) += len(root.Members) - 1 // the members count in place of their root
	}
	for _, e := range q.members {
		if p := e.Place(); p == Incomplete || p == Pending {
			*c.at(p)++
		}
	}
	return c
}

// at returns the count of a place.
func (c *Counts) at(p Place) *int {
	switch p {
	case Active:
		return &c.Active
	case Backoff, ErrorBackoff:
		return &c.Backoff
	case Unschedulable:
		return &c.Unschedulable
	case Gated:
		return &c.Gated
	case Pending:
		return &c.Pending
	case InFlight:
		return &c.InFlight
	}
	return &c.Incomplete
}

// roots yields the queued roots of trees of groups.
func (q *Queue) roots() iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		seen := map[*Entry]bool{}
		for _, e := range q.members {
			if root := e.root; root != nil && root.place != InFlight && !seen[root] {
				seen[root] = true
				if !yield(root) {
					return
				}
			}
		}
	}
}

// Entities returns the number of entries in each place, those of pods without a group apart from those of trees of groups: the metric
// scheduler_queued_entities. Pods in flight, incomplete and pending ones are not in it. O(members of groups that wait).
func (q *Queue) Entities() (pods, trees Counts) {
	for root := range q.roots() {
		*trees.at(root.place)++
	}
	for _, p := range [...]Place{Active, Backoff, ErrorBackoff, Unschedulable, Gated} {
		*pods.at(p) += len(q.heaps[p].items)
	}
	pods.Active, pods.Backoff, pods.Gated = pods.Active-trees.Active, pods.Backoff-trees.Backoff, pods.Gated-trees.Gated
	return pods, trees
}

// Rejected returns the number of queued pods of a profile that the plugin rejected or gates: the metric
// scheduler_unschedulable_pods (Q12.2). It is 0 for an unknown profile or plugin. O(1).
func (q *Queue) Rejected(schedulerName, plugin string) int {
	if p := q.byName[schedulerName]; p != nil && p.plugins[plugin] != nil {
		return p.plugins[plugin].count
	}
	return 0
}

// Lookup returns the entry of the queued pod of that namespace and name, and false when pod is nil or not queued. O(1).
func (q *Queue) Lookup(pod *v1.Pod) (*Entry, bool) {
	if pod == nil {
		return nil, false
	}
	e := q.lookup(keyOf(pod))
	return e, e != nil
}
