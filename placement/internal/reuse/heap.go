package reuse

import "math"

// heap holds slots with the largest key on top, four children for each entry. where[slot] is the position of a slot in its
// heap. The key of a slot is its score over rows and then its place in scan order: the top is the node that a scan from the
// front would choose.
type heap []heapEntry

type heapEntry struct {
	key  int64
	slot int32
}

// keyOf returns the key of a node with a score over rows and a place in scan order.
func keyOf(own int64, rank int32) int64 { return own<<32 | int64(math.MaxUint32-uint32(rank)) }

// fits reports whether a key is that of a node. A node that its rows reject has a negative key.
func fits(key int64) bool { return key >= 0 }

const fan = 4

// order makes a heap of entries in any order.
func (h *heap) order(where []int32) {
	for i := len(*h) - 1; i >= 0; i-- {
		h.down(i, where)
	}
}

func (h *heap) push(e heapEntry, where []int32) {
	*h = append(*h, e)
	h.up(len(*h)-1, where)
}

// remove removes the slot at position i.
func (h *heap) remove(i int, where []int32) {
	old := *h
	last := len(old) - 1
	where[old[i].slot] = -1
	moved := old[last]
	*h = old[:last]
	if i < last {
		(*h)[i] = moved
		h.fix(i, where)
	}
}

// set changes the key at position i.
func (h *heap) set(i int, key int64, where []int32) {
	(*h)[i].key = key
	h.fix(i, where)
}

func (h *heap) fix(i int, where []int32) {
	if !h.up(i, where) {
		h.down(i, where)
	}
}

// up moves the entry at i towards the top and reports whether it moved.
func (h *heap) up(i int, where []int32) bool {
	s := *h
	e, from := s[i], i
	for i > 0 {
		parent := (i - 1) / fan
		if s[parent].key >= e.key {
			break
		}
		s[i] = s[parent]
		where[s[i].slot] = int32(i)
		i = parent
	}
	s[i] = e
	where[e.slot] = int32(i)
	return i != from
}

func (h *heap) down(i int, where []int32) {
	s := *h
	e := s[i]
	for {
		first := i*fan + 1
		if first >= len(s) {
			break
		}
		children, best := s[first:min(first+fan, len(s))], 0
		for c := range children {
			if children[c].key > children[best].key {
				best = c
			}
		}
		if children[best].key <= e.key {
			break
		}
		s[i] = children[best]
		where[s[i].slot] = int32(i)
		i = first + best
	}
	s[i] = e
	where[e.slot] = int32(i)
}
