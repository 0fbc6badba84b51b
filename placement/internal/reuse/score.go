package reuse

import (
	"math"

	"github.com/podberth/podberth/placement/internal/heap"
	"github.com/podberth/podberth/score"
)

// scoresOf returns, by group, the weighted scores that all nodes of a feasible group share; the scores over rows are not among
// them. It reports false when a score is out of range. The slice is valid until the next call.
func (s *podKind) scoresOf(groups []candidate) ([]int64, bool) {
	b := &s.engine.buffers
	b.add = append(b.add[:0], make([]int64, len(groups))...)
	b.raw = append(b.raw[:0], b.add...)
	b.ignored = append(b.ignored[:0], make([]bool, len(groups))...)
	add, raw, ignored := b.add[:len(groups)], b.raw[:len(groups)], b.ignored[:len(groups)]
	for k := range s.scorers {
		x := &s.scorers[k]
		if x.Weigher != nil {
			b.slots, b.counts = b.slots[:0], b.counts[:0]
			for j := range groups {
				b.slots, b.counts = append(b.slots, groups[j].top.Slot), append(b.counts, groups[j].count)
			}
			x.Weigher.Weigh(b.slots, b.counts)
		}
		lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
		fixed := s.static.scorers[s.order[k]] != nil
		for j := range groups {
			i := int(groups[j].top.Slot)
			if fixed {
				raw[j] = s.static.raw[groups[j].class][s.order[k]]
			} else {
				raw[j] = x.Raw(i)
			}
			if ignored[j] = x.Ignored(i); !ignored[j] {
				lo, hi = min(lo, raw[j]), max(hi, raw[j])
			}
		}
		for j := range groups {
			if ignored[j] {
				continue
			}
			n := raw[j]
			if x.Normalizer != nil {
				n = x.Normalizer.Normalize(n, lo, hi)
			}
			if n < 0 || n > score.MaxScore {
				return nil, false
			}
			add[j] += n * x.Weight
		}
	}
	return add, true
}

// best writes the node with the largest total into the answer; of equal totals the first in scan order. It returns the scores of the feasible
// groups: none when one node alone is feasible, which needs no scores. There must be a group. ok is false when a score is out of range.
func (s *podKind) best(groups []candidate, out *Answer) (add []int64, ok bool) {
	if out.Slot = int(groups[0].top.Slot); out.Feasible == 1 {
		return nil, true
	}
	if add, ok = s.scoresOf(groups); !ok {
		return nil, false
	}
	var first uint32
	for j := range groups {
		top := groups[j].top
		t, place := heap.Score(top.Key)+add[j], heap.Place(top.Key)
		if j == 0 || t > out.Total || t == out.Total && place < first {
			out.Slot, out.Total, first = int(top.Slot), t, place
		}
	}
	return add, true
}

// rowScore returns the score of a slot over rows: negative when its rows reject the slot. It reports false when the sum of the scores is out of range
// or the predicate fails, which did not happen where rows are kept.
func (s *podKind) rowScore(i int) (score int64, ok bool) {
	if s.rows != nil {
		return heap.Score(s.rows.keys[i]), true
	}
	key, _, ok := s.row.key(i, 0)
	return heap.Score(key), ok
}
