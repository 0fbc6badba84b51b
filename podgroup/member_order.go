package podgroup

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// Member is a queued pod of a group.
type Member struct {
	Pod *v1.Pod
	// Attempts is how often the pod was tried.
	Attempts int
	// Timestamp is the time of the pod's last arrival or return.
	Timestamp time.Time
	// Order is the place among the arrivals and returns of the same time. 0 in all members: not known, their names decide.
	Order uint64
}

// CompareMembers orders the members of one group as they are tried:
//
//  1. Larger priority.
//  2. More attempts: new pods come after pods that were tried.
//  3. Earlier timestamp, then smaller order.
//  4. Smaller name, by bytes.
func CompareMembers(a, b Member) int {
	return cmp.Or(
		cmp.Compare(podinfo.Priority(b.Pod), podinfo.Priority(a.Pod)),
		cmp.Compare(b.Attempts, a.Attempts),
		a.Timestamp.Compare(b.Timestamp),
		cmp.Compare(a.Order, b.Order),
		cmp.Compare(a.Pod.Name, b.Pod.Name),
	)
}

// SortMembers sorts the members by [CompareMembers].
func SortMembers(members []Member) { slices.SortStableFunc(members, CompareMembers) }
