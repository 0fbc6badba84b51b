package reuse

import (
	"math/bits"

	"github.com/podberth/podberth/placement/internal/heap"
)

// heapOf returns the heap of a slot's group, and which entries do not count there.
func (s *podKind) heapOf(slot int32, without map[int]bool) (heap.Heap, heap.Skip) {
	skip := heap.Skip{Slots: without}
	if x := &s.exceptions; x.some() && x.of[slot] < 0 {
		skip.Marked = x.of
	}
	return s.groupOf(slot).heap, skip
}

// leaveOut takes slots out of the candidates. Every such slot has room.
func (s *podKind) leaveOut(without map[int]bool, groups []candidate) {
	for i := range without {
		for k := range groups {
			if c := &groups[k]; s.groupOf(c.top.Slot) == s.groupOf(int32(i)) {
				c.count--
				break
			}
		}
	}
	for k := range groups {
		if c := &groups[k]; c.count > 0 && without[int(c.top.Slot)] {
			h, skip := s.heapOf(c.top.Slot, without)
			c.top = h.Best(skip, &s.engine.buffers.frontier)
		}
	}
}

// amongTied lets the question choose among the nodes of the largest total, in scan order.
func (s *podKind) amongTied(q *Question, groups []candidate, scores []int64, best Answer) int {
	order, b := s.engine.scan, &s.engine.buffers
	b.tied = append(b.tied[:0], make([]uint64, len(order)/64+1)...)
	n := 0
	for k := range groups {
		c := &groups[k]
		if own := heap.Score(c.top.Key); own+scores[k] == best.Total {
			h, skip := s.heapOf(c.top.Slot, q.Without)
			n += h.Mark(own, skip, b.tied)
		}
	}
	if n < 2 {
		return best.Slot
	}
	k := max(q.Tie(n), 0)
	for at, word := range b.tied {
		if c := bits.OnesCount64(word); k >= c {
			k -= c
			continue
		}
		for ; k > 0; k-- {
			word &= word - 1
		}
		return order[at*64+bits.TrailingZeros64(word)]
	}
	return best.Slot
}
