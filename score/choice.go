package score

import "strings"

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

// Uniform is a tie function that gives each of the tied the same chance. intn returns a number from 0 to n-1, as
// rand.IntN does.
func Uniform(intn func(n int) int) func(tied []int) int {
	return func(tied []int) int { return intn(len(tied)) }
}

// LowestName is a tie function that chooses the node whose name sorts first; of equal names the first in the list.
func LowestName(names []string) func(tied []int) int {
	return func(tied []int) int {
		best := 0
		for k, i := range tied {
			if i < len(names) && tied[best] < len(names) && strings.Compare(names[i], names[tied[best]]) < 0 {
				best = k
			}
		}
		return best
	}
}

// Reservoir returns the position of the highest total as releases up to v1.34 choose it: it walks the list, counts ties,
// and lets the k-th of them replace the choice with probability 1/k, which is uniform. intn returns a number from 0 to
// n-1. -1 without totals.
//
// A widely read article prints the loop without the line that increments the count; copied like that it always takes the
// last of the tied.
func Reservoir(totals []int64, intn func(n int) int) int {
	best, ties := -1, 0
	for i, t := range totals {
		switch {
		case best < 0 || t > totals[best]:
			best, ties = i, 1
		case t == totals[best]:
			ties++
			if intn(ties) == 0 {
				best = i
			}
		}
	}
	return best
}

// Choose decides for one pod among its feasible nodes: -1 without any; the only one without calling score, so that no
// plugin and no extender is asked; otherwise the best total (Best).
func Choose(nodes []string, score func() ([]Column, []ExtenderScores, error), tie func(tied []int) int) (int, error) {
	if len(nodes) <= 1 {
		return len(nodes) - 1, nil
	}
	columns, extenders, err := score()
	if err != nil {
		return -1, err
	}
	totals, err := Totals(nodes, columns, extenders)
	if err != nil {
		return -1, err
	}
	return Best(totals, tie), nil
}
