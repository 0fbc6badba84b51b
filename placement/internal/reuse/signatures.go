package reuse

import "slices"

// signatures numbers lists of integers in the order in which they come, from 0. The zero value has none.
type signatures struct {
	next  []int32 // the list to look up
	all   []int32 // the lists that have numbers, one behind the other
	ends  []int32 // where each of them ends
	table []int32 // by hash: a number and 1 more, 0 for none; at most half full
}

// number returns the number of the list next, and false when the list has just got its number.
func (s *signatures) number() (id int32, known bool) {
	if 2*len(s.ends) >= len(s.table) {
		s.grow()
	}
	mask := uint32(len(s.table) - 1)
	at := hash(s.next) & mask
	for ; s.table[at] != 0; at = (at + 1) & mask {
		if id := s.table[at] - 1; slices.Equal(s.list(id), s.next) {
			return id, true
		}
	}
	s.all = append(s.all, s.next...)
	s.ends = append(s.ends, int32(len(s.all)))
	s.table[at] = int32(len(s.ends))
	return int32(len(s.ends) - 1), false
}

// clear forgets all numbers and keeps the memory.
func (s *signatures) clear() {
	s.all, s.ends = s.all[:0], s.ends[:0]
	clear(s.table)
}

func (s *signatures) clone() signatures {
	return signatures{all: slices.Clone(s.all), ends: slices.Clone(s.ends), table: slices.Clone(s.table)}
}

// list returns the list with a number.
func (s *signatures) list(id int32) []int32 {
	begin := int32(0)
	if id > 0 {
		begin = s.ends[id-1]
	}
	return s.all[begin:s.ends[id]]
}

func (s *signatures) grow() {
	s.table = make([]int32, max(16, 2*len(s.table)))
	mask := uint32(len(s.table) - 1)
	for id := range s.ends {
		at := hash(s.list(int32(id))) & mask
		for s.table[at] != 0 {
			at = (at + 1) & mask
		}
		s.table[at] = int32(id + 1)
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
