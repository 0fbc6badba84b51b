package packing

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// spare returns what is free on a slot, from where the items are.
func (s *search) spare(i int) []int64 {
	out := slices.Clone(s.rooms[i*s.columns : (i+1)*s.columns])
	for k := range s.items {
		if s.items[k].at == i {
			for c, n := range s.need(k) {
				out[c] -= n
			}
		}
	}
	return out
}

// holds reports whether an item has room on a slot without some items.
func (s *search) holds(k, i int, without ...int) bool {
	room := s.spare(i)
	for _, m := range without {
		for c, n := range s.need(m) {
			room[c] += n
		}
	}
	for c, n := range s.need(k) {
		if n > 0 && n > room[c] {
			return false
		}
	}
	return s.items[k].slots == nil || s.items[k].slots[i]
}

// spared reports whether the budgets allow that some items leave together.
func (s *search) spared(list []int) bool {
	left := slices.Clone(s.allowed)
	for _, m := range list {
		for _, b := range s.items[m].budgets {
			if s.items[m].home == s.items[m].at {
				if left[b]--; left[b] < 0 {
					return false
				}
			}
		}
	}
	return true
}

// mess takes some items off their nodes and puts some elsewhere.
func (s *search) mess() {
	for k := range s.items {
		if s.items[k].at >= 0 && s.may(k) && s.r.IntN(2) == 0 {
			s.take(k)
		}
	}
	for k := range s.items {
		if i := s.slots[s.r.IntN(len(s.slots))]; s.items[k].at < 0 && s.r.IntN(2) == 0 && s.fits(k, i) {
			s.put(k, i)
		}
		s.items[k].tries = 1 + s.r.IntN(4)
	}
}

// An insertion takes the slot with the least room, a running pod's own before others. Without room it takes a slot where as few pods of
// lower tiers as possible leave, and without such a slot one or two pods that were tried less often than the pod.
func TestInsertion(t *testing.T) {
	room, below, swaps, nowhere := 0, 0, 0, 0
	for seed := range uint64(1200) {
		s := drawn(t, seed, false)
		s.mess()
		k := s.r.IntN(len(s.items))
		if s.items[k].at >= 0 || s.items[k].stays {
			continue
		}
		for m := range s.items { // little room is left
			if i := s.snug(m); m != k && s.items[m].at < 0 && i >= 0 && s.r.IntN(8) > 0 {
				s.put(m, i)
			}
		}
		tier := s.items[k].tier + s.r.IntN(len(s.tiers)-s.items[k].tier)
		best, home := -1, s.items[k].home
		for _, i := range s.slots {
			if s.holds(k, i) && (best < 0 || s.room(i) < s.room(best)) {
				best = i
			}
		}
		if home >= 0 && s.holds(k, home) {
			best = home
		}
		fewest, least := -1, s.items[k].tries // pods of lower tiers, tries of others
		cost := func(i int, out []int) (sum int) {
			for _, m := range out {
				if s.items[m].tier <= tier {
					sum += s.items[m].tries
				}
			}
			return sum
		}
		for _, i := range s.slots {
			if s.items[k].slots != nil && !s.items[k].slots[i] {
				continue
			}
			lower, enough := s.lower(k, i, tier)
			if enough && (fewest < 0 || len(lower) < fewest) {
				fewest = len(lower)
			}
			if enough {
				continue
			}
			for _, set := range s.sets(k, i, tier, lower) {
				least = min(least, cost(i, set))
			}
		}
		if best < 0 {
			require.Equal(t, -1, s.snug(k))
		}
		i, out := s.insertion(k, tier, s.items[k].tries)
		name := fmt.Sprintf("seed %d", seed)
		switch {
		case best >= 0:
			require.Equal(t, best, i, name)
			require.Empty(t, out, name)
			room++
		case fewest >= 0:
			require.GreaterOrEqual(t, i, 0, name)
			require.Len(t, out, fewest, name)
			require.Zero(t, cost(i, out), name)
			require.True(t, s.holds(k, i, out...) && s.spared(out), name)
			below++
		case least < s.items[k].tries:
			require.GreaterOrEqual(t, i, 0, name)
			require.Equal(t, least, cost(i, out), name)
			require.True(t, s.holds(k, i, out...) && s.spared(out), name)
			swaps++
		default:
			require.Equal(t, -1, i, name)
			require.Empty(t, out, name)
			nowhere++
		}
	}
	require.Greater(t, min(room, below, swaps, nowhere), 30, "%d %d %d %d", room, below, swaps, nowhere)
}

// sets returns one item, and two items neither of which is enough by itself in their order, that leave room beside the items below.
func (s *search) sets(k, i, tier int, lower []int) (out [][]int) {
	can := func(m int) bool { return s.items[m].tier <= tier && s.may(m) }
	for x, a := range s.on[i] {
		if !can(a) {
			continue
		}
		if s.holds(k, i, append(slices.Clone(lower), a)...) {
			out = append(out, append(slices.Clone(lower), a))
			continue
		}
		for _, b := range s.on[i][x+1:] {
			if can(b) && s.holds(k, i, append(slices.Clone(lower), a, b)...) {
				out = append(out, append(slices.Clone(lower), a, b))
			}
		}
	}
	return slices.DeleteFunc(out, func(set []int) bool { return !s.spared(set) })
}

// The sets that may leave for an item, in order and with their costs.
func TestEach(t *testing.T) {
	ones, twos := 0, 0
	for seed := range uint64(700) {
		s := drawn(t, seed, false)
		s.mess()
		k := s.r.IntN(len(s.items))
		if s.items[k].at >= 0 {
			continue
		}
		tier := s.r.IntN(len(s.tiers))
		for _, i := range s.slots {
			lower, enough := s.lower(k, i, tier)
			if enough || s.items[k].slots != nil && !s.items[k].slots[i] {
				continue
			}
			var got [][]int
			s.each(k, i, tier, lower, func(set []int, cost int) {
				got = append(got, slices.Clone(set))
				for _, m := range set[len(lower):] {
					cost -= s.items[m].tries
				}
				require.Zero(t, cost)
			})
			want := s.sets(k, i, tier, lower)
			require.Equal(t, len(want), len(got), "seed %d", seed)
			for at := range want {
				require.Equal(t, want[at], got[at], "seed %d", seed)
			}
			for _, set := range got {
				if len(set) == len(lower)+1 {
					ones++
				} else {
					twos++
				}
			}
		}
	}
	require.Greater(t, min(ones, twos), 30)
}

// Budgets count pods that leave their own nodes, however the pods are ordered.
func TestKeeps(t *testing.T) {
	yes, no := 0, 0
	for seed := range uint64(300) {
		s := drawn(t, seed, false)
		s.mess()
		for range 10 {
			var list []int
			for k := range s.items {
				if s.items[k].at >= 0 && s.r.IntN(2) == 0 {
					list = append(list, k)
				}
			}
			for k := range s.items {
				if s.r.IntN(3) == 0 && len(s.allowed) > 1 {
					s.items[k].budgets = []int32{1, 0}[s.r.IntN(2):]
				}
			}
			s.r.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
			want := s.spared(list)
			require.Equal(t, want, s.keeps(list), "seed %d", seed)
			if want {
				yes++
			} else {
				no++
			}
		}
	}
	require.Greater(t, min(yes, no), 100)
}

// Of items that ask for less than nothing the largest one is found too: broken pods have such requests.
func TestLargest(t *testing.T) {
	s := drawn(t, 1, false)
	s.offered = slices.Repeat([]int64{1}, s.columns)
	for _, k := range []int{0, 1} {
		need := s.need(k)
		for c := range need {
			need[c] = int64(-3 - k)
		}
	}
	require.Equal(t, 0, s.largest([]int{0, 1}))
	require.Equal(t, 0, s.largest([]int{1, 0}))
}

// At most 200 slots are looked at, each once, in any order.
func TestSome(t *testing.T) {
	for _, n := range []int{1, 199, 200, 201, 500} {
		s := drawn(t, 1, false)
		s.slots = nil
		for i := range n {
			s.slots = append(s.slots, i)
		}
		first := slices.Clone(s.some())
		second := slices.Clone(s.some())
		for _, list := range [][]int{first, second} {
			require.Len(t, list, min(n, 200))
			slices.Sort(list)
			require.Len(t, slices.Compact(slices.Clone(list)), len(list))
			require.Less(t, list[len(list)-1], n)
		}
		if n == 500 {
			require.NotEqual(t, first, second)
		}
	}
}

// After the pods went home, no pod that is away has room at home, alone or by changing places with one pod that is not at home there.
// No tier has fewer pods, and no node more than it offers.
func TestGoHome(t *testing.T) {
	home, away, swapped := 0, 0, 0
	for seed := range uint64(600) {
		s := drawn(t, seed, seed%4 == 0)
		s.mess()
		before, placed := s.positions(), slices.Clone(s.placed)
		s.goHome()
		require.Equal(t, s.positions(), s.best)
		require.Equal(t, placed, s.placed)
		for _, i := range s.slots {
			require.Equal(t, s.spare(i), s.left(i))
		}
		for k := range s.items {
			it := &s.items[k]
			if it.at == it.home && before[k] >= 0 && before[k] != it.home {
				home++
			}
			if it.home < 0 && it.at != before[k] {
				swapped++
			}
			if it.at < 0 || it.home < 0 || it.at == it.home {
				continue
			}
			away++
			if s.mirror != nil {
				continue
			}
			require.False(t, s.holds(k, it.home), "seed %d, %s has room at home", seed, it.pod.Name)
			for _, m := range s.on[it.home] {
				if s.items[m].home == it.home || s.items[m].stays || s.items[m].slots != nil && !s.items[m].slots[it.at] {
					continue
				}
				require.False(t, s.holds(k, it.home, m) && s.holds(m, it.at, k), "seed %d, %s changes places with %s", seed, it.pod.Name, s.items[m].pod.Name)
			}
		}
	}
	require.Greater(t, min(home, away, swapped), 20, "%d %d %d", home, away, swapped)
}

// An item returns to its node, if need be in the place of an item that goes where it was; nothing has changed if that is not possible.
func TestReturns(t *testing.T) {
	yes, no := 0, 0
	for seed := range uint64(600) {
		s := drawn(t, seed, seed%4 == 0)
		s.mess()
		for k := range s.items {
			it := &s.items[k]
			if it.at < 0 || it.home < 0 || it.at == it.home {
				continue
			}
			from, before := it.at, s.positions()
			if s.returns(k) {
				require.Equal(t, it.home, it.at)
				for m := range s.items {
					if m != k && s.items[m].at != before[m] {
						require.Equal(t, []int{it.home, from}, []int{before[m], s.items[m].at})
						require.NotEqual(t, it.home, s.items[m].home)
					}
				}
				yes++
			} else {
				require.Equal(t, before, s.positions())
				no++
			}
			for _, i := range s.slots {
				require.Equal(t, s.spare(i), s.left(i))
			}
		}
	}
	require.Greater(t, min(yes, no), 20)
}
