// Package intern numbers lists of integers: equal lists have equal numbers.
//
//	var lists intern.Lists
//	lists.Next = append(lists.Next[:0], 3, 1, 4)
//	number, known := lists.Number() // 0, false; the next time 0, true
//
// Numbers count from 0 in the order in which the lists come. A list is looked up by a hash and compared whole. The lists lie one behind the other,
// without an allocation of their own. Number costs O(length of the list), and asks for memory only to grow. Lists belong to one goroutine.
package intern

import "slices"

// Lists has numbers for lists. The zero value has none. A copy shares memory: use Clone.
type Lists struct {
	Next  []int32 // the list that Number looks up
	all   []int32 // the lists that have numbers, one behind the other
	ends  []int32 // where each of them ends
	table []int32 // by hash: a number and 1 more, 0 for none; at most half full
}

// Number returns the number of the list Next. It reports false when the list has just got its number.
func (s *Lists) Number() (number int32, known bool) {
	if 2*len(s.ends) >= len(s.table) {
		s.grow()
	}
	mask := uint32(len(s.table) - 1)
	at := hash(s.Next) & mask
	for ; s.table[at] != 0; at = (at + 1) & mask {
		if n := s.table[at] - 1; slices.Equal(s.list(n), s.Next) {
			return n, true
		}
	}
	s.all = append(s.all, s.Next...)
	s.ends = append(s.ends, int32(len(s.all)))
	s.table[at] = int32(len(s.ends))
	return int32(len(s.ends) - 1), false
}

// Clear forgets all numbers and keeps the memory.
func (s *Lists) Clear() {
	s.all, s.ends = s.all[:0], s.ends[:0]
	clear(s.table)
}

// Clone returns a copy, without Next.
func (s *Lists) Clone() Lists {
	return Lists{all: slices.Clone(s.all), ends: slices.Clone(s.ends), table: slices.Clone(s.table)}
}

// list returns the list with a number.
func (s *Lists) list(number int32) []int32 {
	begin := int32(0)
	if number > 0 {
		begin = s.ends[number-1]
	}
	return s.all[begin:s.ends[number]]
}

func (s *Lists) grow() {
	s.table = make([]int32, max(16, 2*len(s.table)))
	mask := uint32(len(s.table) - 1)
	for n := range s.ends {
		at := hash(s.list(int32(n))) & mask
		for s.table[at] != 0 {
			at = (at + 1) & mask
		}
		s.table[at] = int32(n + 1)
	}
}

// hash mixes the bits of a list, with the constants of FNV and of a multiplicative hash.
func hash(list []int32) uint32 {
	h := uint64(14695981039346656037)
	for _, x := range list {
		h = (h ^ uint64(uint32(x))) * 1099511628211
	}
	return uint32((h * 0x9E3779B97F4A7C15) >> 32)
}
