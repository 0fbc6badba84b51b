package filter

import "slices"

// Search looks for nodes that take a pod. It is sequential and deterministic; to use several cores, let workers fill a
// column of verdicts for disjoint parts of the slots (Predicates.First may be called by all of them) and pass a function
// that reads the column: the outcome is the same.
type Search struct {
	// Candidates are the slots to look at in scan order: ScanOrder, less the nodes that PreFilter plugins
	// took away.
	Candidates []int
	// Nodes is the length of the whole scan order; 0 stands for len(Candidates).
	Nodes int
	// Next is where the round begins: Found.Next of the search before, 0 at first.
	Next int
	// Limit is how many feasible nodes are enough (NumToFind); 0 stands for all.
	Limit int
	// Nominated is the slot of the pod's status.nominatedNodeName; nil without. It is tried first and alone.
	Nominated *int
}

// Found is the outcome of a search.
type Found struct {
	// Feasible holds the slots that take the pod, in the order found.
	Feasible []int
	// OnNominated says that the nominated node took the pod; it is the only one in Feasible, and no other was looked at.
	OnNominated bool
	// NominatedBy is the plugin that rejected the nominated node, "" when there was none or it took the pod.
	NominatedBy string
	// Examined is the number of candidates looked at; 1 when the nominated node took the pod.
	Examined int
	// Next is where the next search begins.
	Next int
	// Rejected counts the reasons of the candidates looked at and rejected.
	Rejected Histogram
	// Err is the failure of a predicate (see Predicates.Err), which ended the search.
	Err error
}

// Run searches. It begins at candidate Next modulo their number, goes round once, and stops when Limit feasible nodes are
// found; the next search begins behind the last one looked at, modulo Nodes, after an error too. When the nominated node
// takes the pod the beginning stays; a predicate's error there counts as a rejection. A nominated node that is not among the
// candidates and rejects the pod is counted in Rejected all the same. Rule: documentation, "Scheduler
// Performance Tuning", How the scheduler iterates over Nodes.
//
// check returns the rejection of a slot; nil stands for ps.First. With nominated pods in the cluster it is a function that
// calls ps.TwoPass. Run costs one check a node and no allocation a node beyond Feasible.
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
				f.Rejected.Add(ps, r, i, 1) // its reasons count even where PreFilter plugins left the node out
				outside = 1
			}
		}
	}
	n := len(s.Candidates)
	if n == 0 {
		return f
	}
	limit := s.Limit
	if limit <= 0 || limit > n {
		limit = n
	}
	at := modulo(s.Next, n)
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
	f.Next = modulo(s.Next+f.Examined, nodes)
	f.Examined += outside
	return f
}

// modulo returns a mod n in 0..n-1, for negative a too.
func modulo(a, n int) int { return (a%n + n) % n }
