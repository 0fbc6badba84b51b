package filter

import (
	"slices"

	"github.com/podberth/podberth/internal/view"
)

// Search looks for nodes that take a pod. A search is sequential and deterministic. To use several cores, let workers call
// [Predicates.First] for disjoint parts of the slots, store the results in a slice, and pass a function that reads the slice.
// The outcome is the same.
type Search struct {
	// Candidates are the slots to look at in scan order: ScanOrder without the nodes that PreFilter plugins took away.
	Candidates []int
	// Nodes is the length of the whole scan order. 0 means len(Candidates).
	Nodes int
	// Next is the position at which the search begins: Found.Next of the search before, 0 for the first search.
	Next int
	// Limit is the number of feasible nodes that are enough (NumToFind). 0 means all.
	Limit int
	// Nominated is the slot of the pod's status.nominatedNodeName, nil for a pod without nomination. Run tries this slot
	// first.
	Nominated *int
}

// Found is the outcome of a search.
type Found struct {
	// Feasible holds the slots that take the pod, in the order found.
	Feasible []int
	// OnNominated reports whether the nominated node takes the pod. Then Feasible has this node alone, and no other node was
	// looked at.
	OnNominated bool
	// NominatedBy is the plugin that rejected the nominated node, "" when the pod has no nomination or the node takes the
	// pod.
	NominatedBy string
	// Examined is the number of candidates looked at, 1 when the nominated node takes the pod.
	Examined int
	// Next is the position at which the next search begins.
	Next int
	// Rejected counts the reasons of the candidates that were looked at and rejected.
	Rejected Histogram
	// Err is the failure of a predicate that ended the search (Predicates.Err), nil without failure.
	Err error
}

// Run searches in these steps:
//
//  1. Run checks the nominated node, if there is one. When this node takes the pod, the search ends and Next stays. An error
//     of a predicate counts as a rejection here. The rejection is counted in Rejected even when the node is not among the
//     candidates.
//  2. Run checks the candidates, beginning at Next modulo their number, each at most once. It stops when it has found Limit
//     feasible nodes, and when a predicate fails.
//  3. The next search begins after the last candidate looked at, modulo Nodes, also after an error.
//
// Rule: documentation, "Scheduler Performance Tuning", How the scheduler iterates over Nodes.
//
// check returns the rejection of a slot. nil means ps.First. When pods are nominated to nodes, pass a function that calls
// ps.TwoPass. Run takes one check for each node and allocates nothing for a node beyond Feasible.
func (s Search) Run(ps Predicates, check func(i int) Rejection) Found {
	if check == nil {
		check = ps.First
	}
	f, outside := Found{Next: s.Next}, 0
	if s.Nominated != nil {
		i := *s.Nominated
		r := check(i)
		if r.Verdict == 0 {
			f.Feasible, f.OnNominated, f.Examined = []int{i}, true, 1
			return f
		}
		if ps.Err(r, i) == nil {
			f.NominatedBy = ps[r.Predicate].Name()
			if s.Nodes > len(s.Candidates) && !slices.Contains(s.Candidates, i) {
				f.Rejected.Add(ps, r, i, 1) // count the reasons even where PreFilter plugins left the node out
				outside = 1
			}
		}
	}
	n := len(s.Candidates)
	if n == 0 {
		return f
	}
	limit := n
	if s.Limit > 0 {
		limit = min(s.Limit, n)
	}
	at := view.Around(s.Next, n)
	for f.Examined < n && len(f.Feasible) < limit {
		i := s.Candidates[at]
		if at++; at == n {
			at = 0
		}
		f.Examined++
		r := check(i)
		if r.Verdict == 0 {
			if f.Feasible == nil {
				f.Feasible = make([]int, 0, limit)
			}
			f.Feasible = append(f.Feasible, i)
			continue
		}
		if f.Err = ps.Err(r, i); f.Err != nil {
			break
		}
		f.Rejected.Add(ps, r, i, 1)
	}
	nodes := s.Nodes
	if nodes <= 0 {
		nodes = n
	}
	f.Next = view.Around(s.Next+f.Examined, nodes)
	f.Examined += outside
	return f
}
