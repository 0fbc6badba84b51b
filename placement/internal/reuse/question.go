package reuse

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
)

// Question is a pod, and what its answer depends on beside the cluster.
type Question struct {
	Pod *v1.Pod
	// Order has the slots of all nodes in scan order. It is another slice after a change of nodes.
	Order []int
	// From is the place in scan order where the search begins. Limit is the number of feasible nodes that ends the search; 0: every node
	// is examined.
	From, Limit int
	// Slots are the only nodes to examine, in scan order, and From is a place among them; nil: all nodes.
	Slots []int
	// Without are slots that are not feasible, whatever the plugins say.
	Without map[int]bool
	// Tie chooses among n nodes of equal total, in the order in which they were found. nil, and a result that is not in 0 to n-1,
	// choose the first.
	Tie func(n int) int
}

// inOrder reports whether the search must go through the nodes in order.
func (q *Question) inOrder() bool { return q.From != 0 || q.Limit != 0 || q.Slots != nil }

// plain reports whether the best node in scan order is asked for.
func (q *Question) plain() bool { return len(q.Without) == 0 && q.Tie == nil }

// Answer is the decision about one pod.
type Answer struct {
	Slot     int // -1: no node is feasible
	Total    int64
	Examined int // 0: every node
	Feasible int
	// Predicates and Rejected say why there is no node. When there is a node, Predicates are those of an Accountable.
	Predicates filter.Predicates
	Rejected   *filter.Histogram
	// Statics are the predicates of group Statics, by place in the profile; nil for a plugin that skips the pod. They may be those of
	// another pod with the same keys. Statics are set when there is a node.
	Statics []filter.Predicate
	// VerdictKey and Kept are set when there is no node. Kept means that pods like this one get the same Rejected until the next event.
	VerdictKey VerdictKey
	Kept       bool
}

// VerdictKey is equal for pods that get equal verdicts. While State is the same, the verdict about a node, with all of its pods or without some,
// changes only with that node or its pods. Pods is empty when nothing is known.
type VerdictKey struct {
	Pods  string
	State uint64
}
