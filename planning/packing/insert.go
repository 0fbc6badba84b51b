package packing

import "slices"

// mostSlots is the number of slots at which an insertion looks for pods that could leave.
const mostSlots = 200

// insertion returns where an item goes and which items leave for it; -1: nowhere. In this order the best is
//
//  1. the slot with the least room, if no item has to leave,
//  2. a slot on which only items of lower tiers leave, as few as possible and of the lowest tiers,
//  3. one or two items, or as many as it takes if two are too few, if inserting them was tried less than most times.
func (s *search) insertion(k, tier, most int) (slot int, out []int) {
	if i := s.snug(k); i >= 0 {
		return i, nil
	}
	slot = -1
	cost, evicts := most, false // only items of lower tiers leave
	for _, i := range s.some() {
		if it := &s.items[k]; it.slots != nil && !it.slots[i] || s.gone(k, i) {
			continue
		}
		lower, enough := s.lower(k, i, tier)
		if enough {
			if (!evicts || len(lower) < len(out)) && s.allows(k, i, lower) {
				slot, out, evicts = i, lower, true
			}
			continue
		}
		if evicts {
			continue
		}
		s.each(k, i, tier, lower, func(set []int, c int) {
			if (c < cost || c == cost && slot >= 0 && s.r.IntN(3) == 0) && s.allows(k, i, set) {
				slot, out, cost = i, slices.Clone(set), c
			}
		})
	}
	return slot, out
}

// some returns slots in a random order, at most mostSlots.
func (s *search) some() []int {
	if len(s.order) == 0 {
		s.order = slices.Clone(s.slots)
	}
	n := min(len(s.order), mostSlots)
	for a := range n {
		b := a + s.r.IntN(len(s.order)-a)
		s.order[a], s.order[b] = s.order[b], s.order[a]
	}
	return s.order[:n]
}

// allows asks the filters that look at other pods.
func (s *search) allows(k, i int, without []int) bool {
	it := &s.items[k]
	return !it.coupled || s.mirror.allows(it, i, without)
}

// lower returns the items of the tiers below that leave first, and whether they leave enough room. If they do, no item is in the
// list without need.
func (s *search) lower(k, i, tier int) (list []int, enough bool) {
	for _, m := range s.on[i] {
		if s.items[m].tier > tier && s.leaves(m) || s.whole(m) && !s.above(m, tier) && s.unitLeaves(m) {
			list = append(list, m)
		}
	}
	if !s.roomy(k, i, list) {
		return list, false
	}
	list = s.needed(k, i, nil, list, func(m int) int { return s.items[m].tier }) // the highest tiers stay first
	return list, s.keeps(list)
}

// needed returns the items of a list, all of which leave enough room beside others, without those that can stay. Each in turn stays if it can,
// the one of the lowest rank first.
func (s *search) needed(k, i int, others, list []int, rank func(m int) int) []int {
	slices.SortStableFunc(list, func(a, b int) int { return rank(a) - rank(b) })
	spare := slices.Clone(s.left(i))
	for _, leave := range [][]int{others, list} {
		for _, m := range leave {
			for c, n := range s.need(m) {
				spare[c] += n
			}
		}
	}
	need := s.need(k)
	return slices.DeleteFunc(list, func(m int) bool {
		for c, n := range s.need(m) {
			if need[c] > 0 && need[c] > spare[c]-n {
				return false
			}
		}
		for c, n := range s.need(m) {
			spare[c] -= n
		}
		return true
	})
}

// keeps reports whether the budgets allow that all items of a list leave together.
func (s *search) keeps(list []int) bool {
	var budgets []int32
	for _, m := range s.withUnits(list) {
		if it := &s.items[m]; it.home == it.at {
			budgets = append(budgets, it.budgets...)
		}
	}
	slices.Sort(budgets)
	for at := 0; at < len(budgets); {
		n := at
		for n < len(budgets) && budgets[n] == budgets[at] {
			n++
		}
		if int(s.allowed[budgets[at]]) < n-at {
			return false
		}
		at = n
	}
	return true
}

// roomy reports whether an item has room on a slot without the items of a list and some more.
func (s *search) roomy(k, i int, list []int, more ...int) bool {
	free, need := s.left(i), s.need(k)
	for c, n := range need {
		room := free[c]
		for _, m := range list {
			room += s.needs[m*s.columns+c]
		}
		for _, m := range more {
			room += s.needs[m*s.columns+c]
		}
		if n > 0 && n > room {
			return false
		}
	}
	return true
}

// each yields one and two items of the tiers down to tier that leave enough room together with the items of the tiers below, with
// how often their insertion was tried. If two are too few, it yields as many as it takes.
func (s *search) each(k, i, tier int, lower []int, yield func(set []int, cost int)) {
	var can, set []int
	for _, m := range s.on[i] {
		if s.items[m].tier <= tier && s.leaves(m) {
			can = append(can, m)
		}
	}
	give := func(list ...int) {
		cost := 0
		for _, m := range list {
			cost += s.items[m].tries
		}
		if set = append(append(set[:0], lower...), list...); s.keeps(set) {
			yield(set, cost)
		}
	}
	few := false
	for x, a := range can {
		if s.roomy(k, i, lower, a) {
			few = true
			give(a)
			continue
		}
		for _, b := range can[x+1:] {
			if s.roomy(k, i, lower, a, b) {
				few = true
				give(a, b)
			}
		}
	}
	if !few && s.roomy(k, i, lower, can...) {
		give(s.needed(k, i, lower, can, func(m int) int { return -s.items[m].tries })...) // what was tried most stays first
	}
}

// shakes is the number of random moves before the search goes on from old positions.
const shakes = 8

// shake moves a random item, or lets two items change places.
func (s *search) shake(tier int) {
	a := s.r.IntN(len(s.items))
	if s.items[a].at < 0 || s.items[a].tier > tier || !s.leaves(a) {
		return
	}
	from := s.items[a].at
	if s.r.IntN(2) == 0 {
		i := s.slots[s.r.IntN(len(s.slots))]
		s.take(a)
		if !s.fits(a, i) {
			i = from
		}
		s.put(a, i)
		return
	}
	b := s.r.IntN(len(s.items))
	to := s.items[b].at
	if to < 0 || to == from || s.items[b].tier > tier || !s.leaves(b) {
		return
	}
	s.take(a)
	s.take(b)
	if s.overdrawn(a, b) || !s.fits(a, to) {
		s.put(a, from)
		s.put(b, to)
		return
	}
	if s.put(a, to); s.fits(b, from) {
		s.put(b, from)
		return
	}
	s.take(a)
	s.put(a, from)
	s.put(b, to)
}

// overdrawn reports whether a budget of one of two items, both off their nodes now, is below zero.
func (s *search) overdrawn(a, b int) bool {
	for _, list := range [][]int32{s.items[a].budgets, s.items[b].budgets} {
		for _, x := range list {
			if s.allowed[x] < 0 {
				return true
			}
		}
	}
	return false
}
