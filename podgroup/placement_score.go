package podgroup

// Amount is one resource of a placement, in any unit, and the weight of the resource.
type Amount struct {
	// Requested is the sum over the placement's nodes and over the members that would go there.
	Requested int64
	// Allocatable is the sum over the placement's nodes.
	Allocatable int64
	Weight      int64
}

// Utilization is the placement score of NodeResourcesFit: the fuller the placement gets, the better, whatever the strategy of the profile
// is. For each resource 100*min(requested, allocatable)/allocatable, and of these the weighted mean; both are integers. A resource of
// which the placement has none is left out. Without resources the score is 0.
func Utilization(amounts []Amount) int64 {
	var sum, weights int64
	for _, a := range amounts {
		if a.Allocatable == 0 {
			continue
		}
		sum += a.Weight * (100 * min(a.Requested, a.Allocatable) / a.Allocatable)
		weights += a.Weight
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}

// PodCounts is the placement score of PodGroupPodsCount: counts are the members that are, or would be, in each placement. The placement
// with the most gets 100. It returns nil when all counts are 0, which v1.37 reports as an error.
func PodCounts(counts []int) []int64 {
	most := 0
	for _, n := range counts {
		most = max(most, n)
	}
	if most == 0 {
		return nil
	}
	out := make([]int64, len(counts))
	for k, n := range counts {
		out[k] = 100 * int64(n) / int64(most)
	}
	return out
}
