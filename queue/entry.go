package queue

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/podinfo"
)

// Place is where a pod is.
type Place uint8

// The places. A known pod is in exactly one of [Active], [Backoff], [ErrorBackoff], [Unschedulable] and [Gated], or in flight.
// Metrics count ErrorBackoff as backoff.
const (
	Nowhere       Place = iota
	Active              // ready to be tried
	Backoff             // resting after a failure that an event may have cured
	ErrorBackoff        // resting after an attempt that no plugin rejected; never popped early
	Unschedulable       // rejected, waiting for an event
	Gated               // refused by a PreEnqueue gate
	InFlight            // popped, the attempt is not finished
	Incomplete          // with GroupOptions: a member whose group has no object
	Pending             // with GroupOptions: a member that came while its root is tried
)

var placeNames = [...]string{"nowhere", "active", "backoff", "error backoff", "unschedulable", "gated", "in flight", "incomplete", "pending"}

// String returns the name of the place in lower case.
func (p Place) String() string {
	if int(p) < len(placeNames) {
		return placeNames[p]
	}
	return "unknown"
}

// Entry is a pod with its history in the queue. The queue owns its entries; callers only read them. The queue does not touch
// an entry that Pop returned until the caller passes it to Return or ReturnRoot. A caller may make an entry with a Pod and a Timestamp to
// compare it with [PriorityLess].
type Entry struct {
	// Pod is the version last seen by Add, Update or Return.
	Pod *v1.Pod
	// Timestamp is when the pod last came from outside: added, or returned after an attempt. Waiting, being moved and
	// being updated do not change it.
	Timestamp time.Time
	// InitialAttemptTimestamp is when the pod first became active; zero while it has only been gated.
	InitialAttemptTimestamp time.Time
	// Attempts counts the pops.
	Attempts int
	// UnschedulableCount counts the attempts that ended with a rejecting plugin; it is never reset.
	UnschedulableCount int
	// ConsecutiveErrorsCount counts the attempts in a row that ended with an error, so that no plugin rejected the pod.
	ConsecutiveErrorsCount int
	// BackoffExpiration is the expiry of the last backoff (backoffExpiry); zero for a pod that never failed.
	BackoffExpiration time.Time
	// Rejecters are the plugins that rejected the pod in its last attempt and those that gated it since,
	// sorted. Neither a pop nor an opened gate clears them.
	Rejecters []string
	// PendingPlugins are the Rejecters that rejected the pod with status Pending, sorted.
	PendingPlugins []string
	// GatingPlugin is the gate that refuses the pod, "" when it is not gated. GateMessage is what it said.
	GatingPlugin, GateMessage string
	// GateErr is the gate's error when it failed instead of refusing.
	GateErr error
	// WasFlushed says that the leftover flush moved the pod and that the pod was not returned since.
	WasFlushed bool
	// PodKey is Options.PodKey of the pod, "" when it has none.
	PodKey string
	// Members are the waiting pods of a root, as they are tried (podgroup.CompareMembers); nil for a pod. Then Pod stands for the root: it
	// has the namespace, the UID and the priority of the root, and the name "podgroup/train" or "compositepodgroup/train".
	Members []*Entry

	place    Place
	since    time.Time // when it entered place
	flushAt  time.Time // last leftover flush since Timestamp, where releases count from it
	priority int32
	index    int    // in the heap of its place
	seq      uint64 // breaks ties; renewed with Timestamp
	visited  uint64 // last sweep that saw it
	profile  *profile
	waits    []wait // one for each rejector
	loose    int    // place in Queue.loose
	entered  uint64 // tick of the queue at which it became active
	group    *group // of equal pods, with ShareFailures, while it is in one of the group's lists
	member   int    // place in that list

	root *Entry   // of a member that waits with others; nil: Incomplete, in flight, or no member
	late []*Entry // of a root in flight: members that came meanwhile
}

// Place returns where the entry is; Nowhere for an entry that the caller made. A member is where its root is.
func (e *Entry) Place() Place {
	switch {
	case e.root == nil:
		return e.place
	case e.root.place == InFlight:
		return Pending
	}
	return e.root.place
}

// failures is the count that the backoff goes by.
func (e *Entry) failures() int {
	if e.ConsecutiveErrorsCount > 0 {
		return e.ConsecutiveErrorsCount
	}
	return e.UnschedulableCount
}

// PriorityLess reports whether a comes before b in the default order of active:
//
//  1. the larger spec.priority (0 when the pod is nil or has no priority)
//  2. the earlier Timestamp
//
// The queue orders entries that are equal in both by their arrival. PriorityLess panics when an entry is nil.
func PriorityLess(a, b *Entry) bool {
	return before(a, b, podinfo.Priority(a.Pod), podinfo.Priority(b.Pod))
}

// cachedLess is PriorityLess for entries of the queue, which keep their pod's priority.
func cachedLess(a, b *Entry) bool { return before(a, b, a.priority, b.priority) }

func before(a, b *Entry, priorityA, priorityB int32) bool {
	return priorityA > priorityB || priorityA == priorityB && a.Timestamp.Before(b.Timestamp)
}

func keyOf(pod *v1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

// flightKey identifies a pod in flight and its nomination: by UID, or by namespace and name where it has none.
func flightKey(pod *v1.Pod) types.UID {
	if pod.UID != "" {
		return pod.UID
	}
	return types.UID(podinfo.Name(pod))
}

// entryHeap is a binary heap of entries that know their place in it (container/heap).
type entryHeap struct {
	items []*Entry
	less  func(a, b *Entry) bool
}

func (h *entryHeap) Len() int           { return len(h.items) }
func (h *entryHeap) Less(i, j int) bool { return h.less(h.items[i], h.items[j]) }

func (h *entryHeap) Swap(i, j int) {
	h.items[i], h.items[j] = h.items[j], h.items[i]
	h.items[i].index, h.items[j].index = i, j
}

// Push is for container/heap.
func (h *entryHeap) Push(x any) {
	e := x.(*Entry)
	e.index = len(h.items)
	h.items = append(h.items, e)
}

// Pop is for container/heap.
func (h *entryHeap) Pop() any {
	last := len(h.items) - 1
	e := h.items[last]
	h.items[last] = nil
	h.items = h.items[:last]
	return e
}

func (h *entryHeap) head() *Entry {
	if len(h.items) == 0 {
		return nil
	}
	return h.items[0]
}
