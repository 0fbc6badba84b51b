package history

// Reservoir returns the position of the highest total that releases up to v1.34 choose: it reads the list, counts ties, and
// replaces the choice by the k-th tied node with probability 1/k. Every tied node has the same chance. intn returns a number
// from 0 to n-1, as rand.IntN does. Reservoir returns -1 without totals.
//
// A widely read article prints the loop without the line that increments the count. Without this line the loop always takes
// the last of the tied nodes.
func Reservoir(totals []int64, intn func(n int) int) int {
	best := -1
	var ties int
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
