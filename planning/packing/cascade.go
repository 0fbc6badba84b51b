package packing

import (
	"math"
	"slices"
)

// cascade is an insertion that goes on with the items that had to leave for it, then with those that had to leave for these, until all
// have a place. It empties a node, and moves pods along a chain of nodes, which an exchange of few pods does not reach.
type cascade struct {
	moved []bool // by item: it has its new place, and leaves it for nobody
	from  []int  // by item: the slot that it left; -1: none
}

// cascade inserts an item and all that leave for it and reports whether all have a place. If one has none, all go back.
func (s *search) cascade(k, tier int) bool {
	before := s.positions()
	s.chain = &cascade{make([]bool, len(s.items)), slices.Repeat([]int{-1}, len(s.items))}
	defer func() { s.chain = nil }()
	for pool := []int{k}; len(pool) > 0; {
		m := s.largest(pool)
		i, out := -1, []int(nil)
		if s.step() {
			i, out = s.insertion(m, tier, math.MaxInt)
		}
		if i < 0 {
			s.restore(before)
			s.items[m].tries++
			return false
		}
		pool = slices.DeleteFunc(pool, func(x int) bool { return x == m })
		for _, x := range out {
			s.chain.from[x] = i
		}
		pool = append(pool, s.out(out, tier)...)
		s.put(m, i)
		s.chain.moved[m] = true
	}
	return true
}

// largest returns the item of a list that asks for most of what all nodes offer, the first of equal ones.
func (s *search) largest(list []int) int {
	best, most := -1, 0.0
	for _, k := range list {
		sum := 0.0 // below 0 where a broken pod asks for less than nothing
		for c, n := range s.need(k) {
			if s.offered[c] > 0 {
				sum += float64(n) / float64(s.offered[c])
			}
		}
		if best < 0 || sum > most {
			best, most = k, sum
		}
	}
	return best
}

// leaves reports whether an item may leave its slot for another item.
func (s *search) leaves(k int) bool { return (s.chain == nil || !s.chain.moved[k]) && s.may(k) }

// gone reports whether an item has left a slot in this cascade, and so does not go back there.
func (s *search) gone(k, i int) bool { return s.chain != nil && s.chain.from[k] == i }
