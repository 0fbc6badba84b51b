package view

import (
	"iter"
	"math/bits"
)

// Slots is a set of slots, a bit for each. nil is the empty set.
type Slots []uint64

// Has reports whether a slot is in the set.
func (s Slots) Has(slot int) bool { return slot/64 < len(s) && s[slot/64]>>(slot%64)&1 != 0 }

// Add puts a slot into the set.
func (s *Slots) Add(slot int) {
	for slot/64 >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[slot/64] |= 1 << (slot % 64)
}

// Remove takes a slot out of the set, if it is there.
func (s Slots) Remove(slot int) {
	if slot/64 < len(s) {
		s[slot/64] &^= 1 << (slot % 64)
	}
}

// All yields the slots in ascending order.
func (s Slots) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for at, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(at*64 + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}
