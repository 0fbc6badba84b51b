// Package heap keeps nodes in heaps, the best node on top.
//
//	var h heap.Heap
//	at := make([]int32, slots) // -1 each: where the slots are, for all heaps that share no slot
//	h.Push(heap.Entry{Key: heap.Key(score, place), Slot: slot}, at)
//	best := h[0]
//	h.Remove(int(at[slot]), at)
//
// A node is a slot, and its key is its score and then its place in an order: of equal scores the earlier place has the larger key. Each
// entry has four children: a change of a key moves an entry over half as many levels as with two, and four keys lie in one or two lines of
// memory. An entry moves no further than it must.
//
// The caller owns the positions and sets them to -1 before use. Push, Remove, Set and Order write them. A heap asks for no memory but to grow. It
// belongs to one goroutine. Push, Remove and Set cost O(log n), Order O(n); Best and Flip cost as much as there are better or equal entries.
package heap

import (
	"fmt"
	"math"
)

// Heap has the entry with the largest key first. The zero value is an empty heap.
type Heap []Entry

// Entry is a slot with its key.
type Entry struct {
	Key  int64
	Slot int32
}

// Key returns the key of a node with a score, from 0 to 2^31-1, and a place in the order. A larger key is better.
func Key(score int64, place int32) int64 { return score<<32 | int64(math.MaxUint32-uint32(place)) }

// Score returns the score in a key.
func Score(key int64) int64 { return key >> 32 }

// Place returns the place in a key.
func Place(key int64) uint32 { return math.MaxUint32 - uint32(key) }

// Fits reports whether a key is that of a node. Key returns no negative number, so that a negative key can mean that a node is rejected.
func Fits(key int64) bool { return key >= 0 }

// Later returns the entry at a place so many further on.
func (e Entry) Later(places int) Entry { return Entry{e.Key - int64(places), e.Slot} }

const fan = 4

// Order makes a heap of entries in any order.
func (h *Heap) Order(at []int32) {
	for i := len(*h) - 1; i >= 0; i-- {
		h.down(i, at)
	}
}

// Push adds an entry. at gets the position of its slot.
func (h *Heap) Push(e Entry, at []int32) {
	*h = append(*h, e)
	h.up(len(*h)-1, at)
}

// Remove removes the entry at position i. The position of its slot becomes -1.
func (h *Heap) Remove(i int, at []int32) {
	old := *h
	last := len(old) - 1
	at[old[i].Slot] = -1
	moved := old[last]
	*h = old[:last]
	if i < last {
		(*h)[i] = moved
		h.fix(i, at)
	}
}

// Set changes the key at position i.
func (h *Heap) Set(i int, key int64, at []int32) {
	(*h)[i].Key = key
	h.fix(i, at)
}

func (h *Heap) fix(i int, at []int32) {
	if !h.up(i, at) {
		h.down(i, at)
	}
}

// up moves the entry at i towards the top and reports whether it moved.
func (h *Heap) up(i int, at []int32) bool {
	s := *h
	e, from := s[i], i
	for i > 0 {
		parent := (i - 1) / fan
		if s[parent].Key >= e.Key {
			break
		}
		s[i] = s[parent]
		at[s[i].Slot] = int32(i)
		i = parent
	}
	s[i] = e
	at[e.Slot] = int32(i)
	return i != from
}

func (h *Heap) down(i int, at []int32) {
	s := *h
	e := s[i]
	for {
		first := i*fan + 1
		if first >= len(s) {
			break
		}
		children, best := s[first:min(first+fan, len(s))], 0
		for c := range children {
			if children[c].Key > children[best].Key {
				best = c
			}
		}
		if children[best].Key <= e.Key {
			break
		}
		s[i] = children[best]
		at[s[i].Slot] = int32(i)
		i = first + best
	}
	s[i] = e
	at[e.Slot] = int32(i)
}

// Valid returns an error when an entry is above a larger one, or a position is not that of its slot.
func (h Heap) Valid(at []int32) error {
	for i, e := range h {
		if at[e.Slot] != int32(i) {
			return fmt.Errorf("slot %d is at %d, and its position is %d", e.Slot, i, at[e.Slot])
		}
		if i > 0 && h[(i-1)/fan].Key < e.Key {
			return fmt.Errorf("slot %d is below a smaller entry", e.Slot)
		}
	}
	return nil
}
