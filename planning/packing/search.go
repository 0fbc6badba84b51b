package packing

import (
	"math/rand/v2"
	"slices"
)

// search improves a model step by step.
type search struct {
	*model
	r     *rand.Rand
	o     Options
	steps int // done
	ended bool

	bound []int // by tier
	best  []int // the best positions so far
	value []int // their number of placed pods by tier
	order []int // scratch: slots

	chain   *cascade // nil: no cascade is under way
	offered []int64  // by column: what all nodes offer
}

// stopEvery is the number of steps between two questions to Options.Stop.
const stopEvery = 100

// step counts a step and reports whether the search goes on.
func (s *search) step() bool {
	limit := s.o.Steps
	if limit == 0 {
		limit = defaultSteps
	}
	if s.ended = s.ended || s.steps >= limit || s.steps%stopEvery == 0 && s.o.Stop != nil && s.o.Stop(); s.ended {
		return false
	}
	s.steps++
	return true
}

// note remembers the positions, which are the best so far.
func (s *search) note() { s.best, s.value = s.positions(), slices.Clone(s.counted()) }

// run searches tier by tier. Tiers that are full, or at their bound after full tiers, need no search. The tiers that may have room
// are searched again and again, each time with twice as many steps.
func (s *search) run() {
	s.note()
	s.offered = make([]int64, s.columns)
	for _, i := range s.slots {
		for c := range s.offered {
			s.offered[c] += max(0, s.rooms[i*s.columns+c])
		}
	}
	for steps := 200 + len(s.items); ; steps *= 2 {
		before := s.steps
		for tier := range s.tiers {
			s.restore(s.best)
			s.fill(tier, steps)
		}
		if s.steps == before {
			break
		}
	}
	s.restore(s.best)
	for s.loosen() { // their room is for others
		for tier := range s.tiers {
			s.settle(tier)
		}
	}
	s.goHome()
}

// open reports whether a tier may get more pods than the best positions have.
func (s *search) open(tier int) bool {
	return slices.Compare(s.value[:tier+1], s.bound[:tier+1]) < 0 && s.value[tier] < s.count(tier)
}

// settle inserts the items of a tier that fit without any change.
func (s *search) settle(tier int) {
	s.rejoin(tier)
	for k := range s.items {
		if it := &s.items[k]; it.tier == tier && it.at < 0 && !s.whole(k) {
			if i := s.snug(k); i >= 0 {
				s.put(k, i)
			}
		}
	}
	s.note()
}

// fill inserts the items of a tier, in so many steps at most. The pool has the items of this tier and of the tiers above without a node. Pods that were
// hard to insert take the place of pods that were easier; items of the tiers below leave whenever that helps. Each round begins with a
// cascade. After a while
// without success, the search goes on from the latest positions that were as good as the best, shaken.
func (s *search) fill(tier, steps int) {
	s.settle(tier)
	if !s.open(tier) {
		return
	}
	end := s.steps + steps
	base, patience := s.positions(), 20+len(s.items)/4
	for s.steps < end && !s.ended {
		pool := s.pool(tier)
		if len(pool) == 0 {
			return // units that leave whole are all that waits
		}
		if s.cascade(pool[s.r.IntN(len(pool))], tier) {
			s.note()
			if !s.open(tier) {
				return
			}
			base = s.positions()
			continue
		}
		for stall := 0; stall < patience && len(pool) > 0 && s.steps < end && s.step(); stall++ {
			pool = s.insert(pool, tier)
			switch d := slices.Compare(s.counted()[:tier+1], s.value[:tier+1]); {
			case d > 0:
				s.note()
				if !s.open(tier) {
					return
				}
				base, stall = s.positions(), 0
			case d == 0:
				s.copyTo(base)
			}
		}
		s.restore(base)
		for range shakes {
			s.shake(tier)
		}
	}
}

// pool returns the items down to a tier that have no node, and forgets how hard they were to insert.
func (s *search) pool(tier int) (pool []int) {
	for k := range s.items {
		it := &s.items[k]
		it.tries = 1 + s.r.IntN(2)
		if it.tier <= tier && it.at < 0 && !it.barred && !s.whole(k) {
			pool = append(pool, k)
		}
	}
	return pool
}

// insert tries to insert a random item of the pool and returns the pool after that.
func (s *search) insert(pool []int, tier int) []int {
	at := s.r.IntN(len(pool))
	k := pool[at]
	pool = slices.Delete(pool, at, at+1)
	i, out := s.insertion(k, tier, s.items[k].tries)
	if i < 0 {
		s.items[k].tries++
		s.shake(tier)
		return append(pool, k)
	}
	pool = append(pool, s.out(out, tier)...)
	s.put(k, i)
	return pool
}

// out takes items off their nodes, each with its unit, and returns those down to a tier, which have to be inserted again.
func (s *search) out(list []int, tier int) (pool []int) {
	for _, m := range list {
		for _, x := range s.unitOf(m) {
			if s.items[x].at < 0 {
				continue
			}
			if s.take(x); s.items[x].tier <= tier {
				pool = append(pool, x)
			}
		}
	}
	return pool
}

// snug returns the slot with room for an item that has the least room, -1 for none. A running pod goes home if it can.
func (s *search) snug(k int) int {
	if home := s.items[k].home; home >= 0 && !s.gone(k, home) && s.fits(k, home) {
		return home
	}
	best, least := -1, 0.0
	for _, i := range s.slots {
		if room := s.room(i); (best < 0 || room < least) && !s.gone(k, i) && s.fits(k, i) {
			best, least = i, room
		}
	}
	return best
}

// room returns the share of a slot that is free, summed over the resources.
func (s *search) room(i int) (sum float64) {
	free := s.left(i)
	for c := range free {
		if offered := s.rooms[i*s.columns+c]; offered > 0 {
			sum += float64(free[c]) / float64(offered)
		}
	}
	return sum
}

// goHome brings running pods back to their nodes where they fit, or changes places with a pod that is not at home there.
func (s *search) goHome() {
	for again := true; again; {
		again = false
		for k := range s.items {
			if it := &s.items[k]; it.at >= 0 && it.home >= 0 && it.at != it.home && s.returns(k) {
				again = true
			}
		}
	}
	s.note()
}

// returns brings an item home and reports whether that was possible.
func (s *search) returns(k int) bool {
	home, away := s.items[k].home, s.items[k].at
	s.take(k)
	if s.fits(k, home) {
		s.put(k, home)
		return true
	}
	for _, m := range slices.Clone(s.on[home]) {
		if s.items[m].home == home || s.items[m].stays {
			continue
		}
		if s.take(m); s.fits(k, home) {
			if s.put(k, home); s.fits(m, away) {
				s.put(m, away)
				return true
			}
			s.take(k)
		}
		s.put(m, home)
	}
	s.put(k, away)
	return false
}
