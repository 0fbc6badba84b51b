package reuse

import (
	"math"
	"math/bits"
)

// skips are the slots of a heap that do not count.
type skips struct {
	exceptions []int32      // by slot; a slot with a number of at least 0 does not count. nil: every slot counts
	without    map[int]bool // slots that do not count
}

func (s skips) has(slot int32) bool {
	return s.exceptions != nil && s.exceptions[slot] >= 0 || s.without[int(slot)]
}

// best returns the best entry of a heap that counts. There must be such an entry. It goes down the heap from the top, so its cost
// grows with the number of better entries.
func (h heap) best(skip skips, frontier *heap) heapEntry {
	*frontier = append((*frontier)[:0], heapEntry{h[0].key, 0})
	for {
		// the frontier holds positions of h, unordered and short
		at := 0
		for k := range *frontier {
			if (*frontier)[k].key > (*frontier)[at].key {
				at = k
			}
		}
		i := int((*frontier)[at].slot)
		if !skip.has(h[i].slot) {
			return h[i]
		}
		(*frontier)[at] = (*frontier)[len(*frontier)-1]
		*frontier = (*frontier)[:len(*frontier)-1]
		for c := i*fan + 1; c < min(i*fan+1+fan, len(h)); c++ {
			*frontier = append(*frontier, heapEntry{h[c].key, int32(c)})
		}
	}
}

// heapOf returns the heap of a slot's group, and which entries do not count there.
func (s *shape) heapOf(slot int32, without map[int]bool) (heap, skips) {
	x, skip := &s.exceptions, skips{without: without}
	if x.some && x.group[slot] >= 0 {
		return x.groups[x.group[slot]].heap, skip
	}
	if x.some {
		skip.exceptions = x.group
	}
	return s.layout.groups[s.layout.group[slot]].heap, skip
}

// leaveOut takes slots out of the candidates. Every such slot has room.
func (s *shape) leaveOut(without map[int]bool, groups []candidate) {
	for i := range without {
		for k := range groups {
			if c := &groups[k]; s.holds(c, i) {
				c.count--
				break
			}
		}
	}
	for k := range groups {
		if c := &groups[k]; c.count > 0 && without[int(c.top.slot)] {
			h, skip := s.heapOf(c.top.slot, without)
			c.top = h.best(skip, &s.engine.room.frontier)
		}
	}
}

// holds reports whether a slot is in the group of a candidate.
func (s *shape) holds(c *candidate, i int) bool {
	x, top := &s.exceptions, c.top.slot
	return s.layout.group[i] == s.layout.group[top] && (!x.some || x.group[i] == x.group[top])
}

// amongTied lets the question choose among the nodes of the largest total, in scan order.
func (s *shape) amongTied(q *Question, groups []candidate, scores []int64, best Answer) int {
	order, room := s.engine.order(), &s.engine.room
	room.tied = append(room.tied[:0], make([]uint64, len(order)/64+1)...)
	n := 0
	for k := range groups {
		c := &groups[k]
		if own := c.top.key >> 32; own+scores[k] == best.Total {
			h, skip := s.heapOf(c.top.slot, q.Without)
			n += h.mark(0, own, skip, room.tied)
		}
	}
	if n < 2 {
		return best.Slot
	}
	k := max(q.Tie(n), 0)
	for at, word := range room.tied {
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

// mark sets the bits of the places in scan order of the entries with a score, from position i down. The entry at i has at least
// that score, and no entry that counts has a larger score. mark returns how many there are.
func (h heap) mark(i int, own int64, skip skips, bits []uint64) (n int) {
	if h[i].key>>32 == own && !skip.has(h[i].slot) {
		rank := math.MaxUint32 - uint32(h[i].key)
		bits[rank/64] |= 1 << (rank % 64)
		n = 1
	}
	for c := i*fan + 1; c < min(i*fan+1+fan, len(h)); c++ {
		if h[c].key>>32 >= own {
			n += h.mark(c, own, skip, bits)
		}
	}
	return n
}
