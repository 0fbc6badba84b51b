package score

// Best returns the position of the highest total, -1 without any. tie chooses among several: it gets their positions in
// ascending order and returns an index into them; nil, or an index out of range, chooses the first.
//
// Documented is a choice at random. What v1.36 does without extenders is neither random nor the first: it takes the top of
// a binary heap that is filled in list order and compares totals only, so that the winner depends on the positions of the
// others; with an extender that has a say about the pod, ties are random. podberth does not follow the heap.
// Rule: documentation, "Kubernetes Scheduler" (Node selection in kube-scheduler).
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
