package queue

import (
	"container/heap"
	"container/list"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/podinfo"
)

// Queue holds the pending pods. Make one with New. It is not safe for concurrent use, not even for reading beside a
// mutator: a live scheduler puts a lock around it.
type Queue struct {
	o            Options
	initial, max time.Duration
	leftover     time.Duration
	period       time.Duration

	byName   map[string]*profile
	profiles []*profile // the configured profiles, by name

	entries map[types.NamespacedName]*Entry // all queued pods
	heaps   [Gated + 1]entryHeap            // by place; Nowhere is unused
	loose   []*Entry                        // unschedulable pods that every interesting event concerns
	groups  map[string]*group
	members map[types.NamespacedName]*Entry // members of groups that wait
	cycling *Entry                          // the root that is tried
	gang    map[string]GateVerdict          // of the groups of a root while its gates are asked; nil otherwise
	nom     *nominator

	flights   map[types.UID]*list.Element // *flight
	order     list.List                   // flights, by pop
	events    []Change                    // since the oldest flight
	base      int                         // absolute number of events[0]
	cycle     int64
	moveCycle int64

	seq, tick, sweeps uint64
	anchor            time.Time // first time seen: start of the grid of leftover flushes
	anchored          bool
	seen              time.Time // last time seen
	lastFlush         int64     // grid number of the last leftover flush
	closed            bool
	out               []Move
	found             []*Entry // room of concerned
}

// Move is a change of a pod's place, with the reason. From and To are equal when a pod was replaced in its place, or when
// another gate holds a gated pod now.
type Move struct {
	Pod      *v1.Pod
	From, To Place
	// Reason is the label of an event (Event.String) or one of BackoffComplete, PopFromBackoffQ, ScheduleAttemptFailure,
	// PodPopped, AttemptDone, PodDeleted, Duplicate (the popped pod was in flight already), Replaced (the pod was added while
	// it was queued), SharedFailure and QueueClosed.
	Reason string
	// Plugin is the plugin whose hint asked for the move, or the gate that holds the pod; "" for neither.
	Plugin string
	// Err is the error of a hint, which counts as Queue, or of a gate, which counts as a refusal.
	Err error
	// Members is the number of pods that move with the root of a tree of groups, for which Pod stands in; 0 for a pod.
	Members int
}

// String returns a line for a log: "default/web-1: unschedulable -> active (NodeAdd, NodeAffinity)". A move without a pod is
// "no pod".
func (m Move) String() string {
	if m.Pod == nil {
		return "no pod"
	}
	s := fmt.Sprintf("%s: %v -> %v (%s", keyOf(m.Pod), m.From, m.To, m.Reason)
	if m.Plugin != "" {
		s += ", " + m.Plugin
	}
	if m.Err != nil {
		s += ": " + m.Err.Error()
	}
	return s + ")"
}

// New returns an empty queue. The error names every invalid option by its field path: durations that are negative or
// contradict each other, gates without name or function, registrations without plugin, resource or action.
func New(o Options) (*Queue, error) {
	o.Release = o.base()
	if errs := o.validate(nil); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	q := &Queue{o: o, leftover: o.Leftover, period: o.LeftoverPeriod, moveCycle: -1,
		byName: map[string]*profile{}, entries: map[types.NamespacedName]*Entry{}, members: map[types.NamespacedName]*Entry{}, flights: map[types.UID]*list.Element{}}
	q.initial, q.max = o.backoff()
	if q.leftover == 0 {
		q.leftover = defaultLeftover
	}
	if q.period == 0 {
		q.period = defaultLeftoverPeriod
	}
	if o.ShareFailures {
		q.groups = map[string]*group{}
	}
	configured := o.Profiles
	if configured == nil {
		configured = defaultProfiles(o.Release)
	}
	for _, name := range sortedKeys(configured) {
		p := newProfile(name, configured[name], &q.o)
		q.byName[name] = p
		q.profiles = append(q.profiles, p)
	}
	q.setOrders()
	q.nom = newNominator(o.Known)
	return q, nil
}

func (q *Queue) setOrders() {
	less := q.o.Less
	if less == nil {
		less = cachedLess
	}
	active := func(a, b *Entry) bool {
		if less(a, b) {
			return true
		}
		return !less(b, a) && a.seq < b.seq
	}
	byExpiry := func(a, b *Entry) bool {
		c := a.BackoffExpiration.Compare(b.BackoffExpiration)
		return c < 0 || c == 0 && active(a, b)
	}
	byTimestamp := func(a, b *Entry) bool {
		c := a.waitsSince().Compare(b.waitsSince())
		return c < 0 || c == 0 && a.seq < b.seq
	}
	q.heaps[Active].less = active
	q.heaps[Backoff].less = byExpiry
	q.heaps[ErrorBackoff].less = byExpiry
	q.heaps[Unschedulable].less = byTimestamp
	q.heaps[Gated].less = byTimestamp
}

// Reorder sorts active and backoff again. Call it when [Options.Less] gives other answers than before. No pod moves. O(n).
func (q *Queue) Reorder() {
	for _, at := range [...]Place{Active, Backoff, ErrorBackoff} {
		heap.Init(&q.heaps[at])
	}
}

// see starts the clock of the leftover flushes, and turns it back when time jumps back.
func (q *Queue) see(now time.Time) {
	if !q.anchored {
		q.anchor, q.anchored = now, true
	}
	q.lastFlush = min(q.lastFlush, q.grid(now))
	q.seen = now
}

func (q *Queue) moves() []Move {
	out := q.out
	q.out = nil
	return out
}

// cause is why a pod is moved.
type cause struct {
	reason string
	plugin *plugin
	err    error
}

func (c cause) move(e *Entry, from, to Place) Move {
	m := Move{Pod: e.Pod, From: from, To: to, Reason: c.reason, Err: c.err, Members: len(e.Members)}
	if c.plugin != nil {
		m.Plugin = c.plugin.name
	}
	return m
}

// setPod gives the entry a (new) version of its pod. It is not enlisted.
func (q *Queue) setPod(e *Entry, pod *v1.Pod) {
	e.Pod = pod
	e.priority = podinfo.Priority(pod)
	if name := podinfo.SchedulerName(pod); e.profile == nil || e.profile.name != name {
		e.profile = q.profileOf(name)
	}
	if q.o.PodKey != nil {
		e.PodKey = q.o.PodKey(pod)
	}
}

// take removes a queued entry from its heap and lists; its place and its key stay.
func (q *Queue) take(e *Entry) {
	heap.Remove(&q.heaps[e.place], e.index)
	q.delist(e)
}

// put places an entry that was taken or is new, and reports it.
func (q *Queue) put(e *Entry, to Place, c cause, now time.Time) {
	from := e.place
	if to == Active {
		if e.InitialAttemptTimestamp.IsZero() {
			e.InitialAttemptTimestamp = now
		}
		q.tick++
		e.entered = q.tick
		if c.reason == labelAdd || c.reason == labelUpdate {
			q.nom.Nominate(e.Pod, Nomination{}) // the status counts; a nomination that it does not know is lost
		}
	}
	if from != to {
		e.since = now
	}
	e.place = to
	q.entries[keyOf(e.Pod)] = e
	heap.Push(&q.heaps[to], e)
	q.enlist(e)
	c.reason = q.o.label(c.reason)
	q.out = append(q.out, c.move(e, from, to))
}

// drop removes a queued entry altogether.
func (q *Queue) drop(e *Entry, c cause) {
	q.take(e)
	delete(q.entries, keyOf(e.Pod))
	q.out = append(q.out, c.move(e, e.place, Nowhere))
	e.place = Nowhere
}

// replace gives a queued entry a new version of its pod, in place.
func (q *Queue) replace(e *Entry, pod *v1.Pod) {
	q.delist(e)
	q.setPod(e, pod)
	q.enlist(e)
	heap.Fix(&q.heaps[e.place], e.index)
}

// Add puts a new pod into active, or into gated when a gate of its profile refuses the pod. A pod that becomes active takes
// its nomination from status.nominatedNodeName. The error is [ErrNoPod] for a nil pod.
//
// Callers should not add a pod twice. When a pod of that name is queued already, the new pod replaces the queued pod, which
// loses its place and its history. When the queued pod is active or backing off and the new pod would be gated, Add does
// nothing.
func (q *Queue) Add(pod *v1.Pod, now time.Time) ([]Move, error) {
	if pod == nil {
		return nil, ErrNoPod
	}
	q.see(now)
	q.add(pod, labelAdd, now)
	return q.moves(), nil
}

func (q *Queue) add(pod *v1.Pod, reason string, now time.Time) {
	if f := q.flightOf(pod); f != nil {
		f.deleted = false
	}
	if q.grouped(pod) {
		q.addMember(pod, reason, now)
		return
	}
	q.seq++
	e := &Entry{Timestamp: now, seq: q.seq}
	q.setPod(e, pod)
	to, c := Active, cause{reason: reason}
	if refused, by := q.gate(e); refused {
		to, c.plugin, c.err = Gated, by, e.GateErr
	} else if leader := q.sharesWith(e); leader != nil {
		e.Rejecters = leader.Rejecters
		to, c.reason = Unschedulable, sharedFailure
	}
	if old := q.entries[keyOf(pod)]; old != nil {
		if to != Active && (old.place == Active || old.place == Backoff || old.place == ErrorBackoff) {
			return
		}
		q.drop(old, cause{reason: replaced})
	}
	q.put(e, to, c, now)
	if q.o.nominatesAtOnce() {
		q.nom.Nominate(e.Pod, Nomination{})
	}
}

// Delete forgets a pod, by namespace and name, and its nomination. When a pod of that UID is in flight, the caller must still
// end the attempt with Done or Return, and Return does not put the pod back. After Done the queue knows nothing of the pod:
// look into the store before returning it. For a member of an active or resting root Delete asks the gates of the other members
// again; as in kube-scheduler [GroupOptions.Known] should still count the pod then. Delete ignores a nil or unknown pod. O(log n);
// O(members) for a member of a group.
func (q *Queue) Delete(pod *v1.Pod) []Move {
	if pod == nil {
		return nil
	}
	q.nom.Remove(pod)
	if e := q.entries[keyOf(pod)]; e != nil {
		q.drop(e, cause{reason: podDeleted})
	}
	if e := q.members[keyOf(pod)]; e != nil {
		q.leave(e, cause{reason: podDeleted}, q.seen)
	}
	if f := q.flightOf(pod); f != nil {
		f.deleted = true
	}
	return q.moves()
}

// Close forgets the pods in flight. Pop still returns the pods that are queued or added later. A second call does nothing.
func (q *Queue) Close() []Move {
	q.closed = true
	for el := q.order.Front(); el != nil; el = el.Next() {
		f := el.Value.(*flight)
		q.out = append(q.out, cause{reason: queueClosed}.move(f.entry, InFlight, Nowhere))
		f.entry.place = Nowhere
	}
	clear(q.flights)
	q.order.Init()
	q.trim()
	return q.moves()
}
