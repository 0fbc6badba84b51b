package spread

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Replica is a running pod and the slot of its node.
type Replica struct {
	Pod  *v1.Pod
	Slot int
	// Excess is how far the spread is from being legal after the replica is deleted: over all constraints, the largest
	// number of pods by which a domain exceeds the global minimum + maxSkew. 0 means that the spread is legal.
	// ScaleDownOrder sets Excess and does not read it.
	Excess int
}

func (s *hardState) ScaleDownOrder(replicas []Replica, n int) []Replica {
	work := s.clone()
	left := make([]candidate, len(replicas))
	for j, r := range replicas {
		left[j] = candidate{r, s.hard.effect(r.Pod)}
	}
	slices.SortStableFunc(left, func(a, b candidate) int {
		return cmp.Or(strings.Compare(a.Pod.Namespace, b.Pod.Namespace), strings.Compare(a.Pod.Name, b.Pod.Name),
			strings.Compare(string(a.Pod.UID), string(b.Pod.UID)), cmp.Compare(a.Slot, b.Slot))
	})
	var out []Replica
	for len(out) < n && len(left) > 0 {
		tops := work.tops()
		best, bestIs := 0, work.without(left[0], tops)
		for j := 1; j < len(left); j++ {
			if is := work.without(left[j], tops); is.compare(bestIs) < 0 {
				best, bestIs = j, is
			}
		}
		deleted := left[best].Replica
		deleted.Excess = bestIs.excess
		out = append(out, deleted)
		work.apply(left[best].effect, left[best].Slot, -1)
		left = slices.Delete(left, best, best+1)
	}
	return out
}

type candidate struct {
	Replica
	effect effect
}

// outcome describes the spread after a deletion.
type outcome struct{ excess, spread, fullness int }

func (a outcome) compare(b outcome) int {
	return cmp.Or(cmp.Compare(a.excess, b.excess), cmp.Compare(a.spread, b.spread), cmp.Compare(b.fullness, a.fullness))
}

// top is the fullest domain of a constraint.
type top struct {
	count int32 // the largest count
	twice bool  // of several domains
}

func (s *hardState) tops() []top {
	out := make([]top, len(s.cols))
	for k := range s.cols {
		for _, n := range s.cols[k].counts {
			if n > out[k].count {
				out[k] = top{count: n}
			} else if n == out[k].count {
				out[k].twice = true
			}
		}
	}
	return out
}

// without returns the outcome when the candidate is deleted.
func (s *hardState) without(c candidate, tops []top) outcome {
	var out outcome
	for k := range s.cols {
		col := &s.cols[k]
		most, low := tops[k].count, col.low
		if uint32(c.effect)>>col.selector&1 != 0 && uint(c.Slot) < uint(len(col.into)) && col.into[c.Slot] >= 0 {
			n := col.counts[col.into[c.Slot]]
			if n == most && !tops[k].twice {
				most--
			}
			if col.enough {
				low = min(low, n-1)
			}
			out.fullness += int(n)
		}
		out.spread += int(most - low)
		out.excess += max(0, int(most-low)-int(col.maxSkew))
	}
	return out
}
