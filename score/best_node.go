package score

// Best returns the position of the highest total, -1 for an empty list (rules C9.1 and C9.2). tie chooses among equal
// totals: it gets their positions in ascending order and returns an index into them. A nil tie, and an index out of range,
// choose the first.
//
// The documentation says that v1.37 chooses at random. Without extenders it does not: it takes the top of a binary heap
// that is filled in list order and compares only totals, so that the winner depends on the positions of the others. With an
// extender that is interested in the pod, ties are random. podberth does not follow the heap. Rule: documentation,
// "Kubernetes Scheduler" (Node selection in kube-scheduler).
func Best(totals []int64, tie func(tied []int) int) int {
	if len(totals) == 0 {
		return -1
	}
	best, n := 0, 1
	for i, t := range totals[1:] {
		switch {
		case t > totals[best]:
			best, n = i+1, 1
		case t == totals[best]:
			n++
		}
	}
	if n == 1 || tie == nil {
		return best
	}
	tied := make([]int, 0, n)
	for i, t := range totals {
		if t == totals[best] {
			tied = append(tied, i)
		}
	}
	if k := tie(tied); k >= 0 && k < len(tied) {
		return tied[k]
	}
	return best
}
