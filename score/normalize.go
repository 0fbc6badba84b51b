package score

// Proportional is the normalization that TaintToleration (Reverse), NodeAffinity and DynamicResources share: the largest
// raw score becomes Max and the others keep their proportion to it. The zero value counts to 100.
//
// The largest score is looked for from 0 on. When it is 0, scores stay what they are, so that negative scores stay
// negative and fail the range check; with Reverse all become Max.
type Proportional struct {
	Max     int64 // 0: MaxScore
	Reverse bool  // the smaller the raw score the better: Max minus the proportion
}

// Normalize returns the normalized score of raw where hi is the largest raw score of the feasible nodes; lo is not looked
// at. O(1), no allocation.
func (p Proportional) Normalize(raw, lo, hi int64) int64 {
	limit := p.limit()
	if hi <= 0 {
		if p.Reverse {
			return limit
		}
		return raw
	}
	n := mulDiv(limit, raw, hi)
	if p.Reverse {
		return limit - n
	}
	return n
}

// NormalizeAll normalizes the scores of all feasible nodes in place.
func (p Proportional) NormalizeAll(scores []int64) {
	lo, hi := Range(scores)
	for i, s := range scores {
		scores[i] = p.Normalize(s, lo, hi)
	}
}

func (p Proportional) limit() int64 {
	if p.Max == 0 {
		return MaxScore
	}
	return p.Max
}

// Range returns the smallest and the largest of scores, 0 and 0 without any.
func Range(scores []int64) (lo, hi int64) {
	for i, s := range scores {
		if i == 0 {
			lo, hi = s, s
		}
		lo, hi = min(lo, s), max(hi, s)
	}
	return lo, hi
}
