package reuse

import v1 "k8s.io/api/core/v1"

// Question is a pod, and what its answer depends on beside the cluster.
type Question struct {
	Pod *v1.Pod
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
