package packing

import (
	"cmp"
	"math/bits"
	"slices"
)

// unit is the size of the largest node in each column of the bound. Every fraction of up to 16 parts of it is a whole number.
const unit = 720_720

// bounds returns for each tier how many of its pods can have a node at most, if each tier above has as many pods as its own bound.
// No vector of placed pods is better. Each weight bounds the pods on its own: what the pods of a node weigh together is at most
// what the node holds, because amounts are rounded down. Pods that stay have their node for sure, and their amounts are not offered to others;
// if kube-scheduler evicts such a pod, the vector of kube-scheduler is bounded too, and nothing counts as staying.
func (m *model) bounds(evicts bool) []int {
	bound := make([]int, len(m.tiers))
	if len(m.slots) == 0 {
		return bound
	}
	sizes, rooms := m.normalized(evicts)
	stay, byTier := make([]int, len(m.tiers)), make([][]int, len(m.tiers))
	for k := range m.items {
		switch it := &m.items[k]; {
		case it.stays && !evicts:
			stay[it.tier]++
		case m.possible(k, sizes, rooms):
			byTier[it.tier] = append(byTier[it.tier], k)
		}
	}
	all := weighs(m.mixes(sizes, rooms))
	for tier := range bound {
		bound[tier] = len(byTier[tier])
		for _, w := range all {
			bound[tier] = min(bound[tier], m.boundBy(w, sizes, rooms, byTier[:tier+1], bound[:tier]))
		}
	}
	for tier, n := range stay {
		bound[tier] += n
	}
	return bound
}

// possible reports whether an item runs, or has room on a node that its filters allow and that has only pods that stay.
func (m *model) possible(k int, sizes, rooms []int64) bool {
	it := &m.items[k]
	return it.home >= 0 || slices.ContainsFunc(m.slots, func(i int) bool {
		for c, n := range sizes[k*m.columns : (k+1)*m.columns] {
			if n > rooms[i*m.columns+c] {
				return false
			}
		}
		return it.slots == nil || it.slots[i]
	})
}

// mostParts is the number of parts into which a weight divides a node at most.
const mostParts = 16

// weigh is a weight of pods: a mix of columns in parts of the largest node, rounded down. 0 parts: not rounded.
// A whole number of parts counts as one part less if the weight is strict: then a pod of more than half a node weighs 1 of 2 parts, and the
// node holds 1.
type weigh struct {
	mix    mix
	parts  int64
	strict bool
}

// mix is the sum of two columns, each times its factor.
type mix struct {
	a, b int
	x, y int64
}

// weighs returns all weights of the mixes.
func weighs(mixes []mix) (out []weigh) {
	for _, m := range mixes {
		out = append(out, weigh{mix: m})
		for parts := range int64(mostParts) {
			out = append(out, weigh{m, parts + 1, false}, weigh{m, parts + 1, true})
		}
	}
	return out
}

// of returns the weight of amounts. The weight of a sum is at least the sum of the weights.
func (w weigh) of(amounts []int64) int64 {
	sum, total := w.mix.x*amounts[w.mix.a]+w.mix.y*amounts[w.mix.b], w.mix.x+w.mix.y
	if w.parts == 0 {
		return sum
	}
	if w.strict && sum > 0 {
		return (sum*w.parts - 1) / (total * unit)
	}
	return sum * w.parts / (total * unit)
}

// mixedColumns is how many columns are mixed with each other: a pod may ask for hundreds of resources.
const mixedColumns = 12

// mixes returns the mixes of the bound: each column alone, and each two of the scarcest columns in three proportions.
func (m *model) mixes(sizes, rooms []int64) (out []mix) {
	for a := range m.columns {
		out = append(out, mix{a, a, 1, 0})
	}
	scarce := m.scarcest(sizes, rooms)
	for at, a := range scarce {
		for _, b := range scarce[:at] {
			out = append(out, mix{a, b, 1, 1}, mix{a, b, 1, 2}, mix{a, b, 2, 1})
		}
	}
	return out
}

// scarcest returns the columns, in their order, of which the items ask for the largest share of what the slots offer: mixedColumns at most.
func (m *model) scarcest(sizes, rooms []int64) []int {
	share := make([]float64, m.columns)
	for c := range share {
		var asked, offered float64
		for at := c; at < len(sizes); at += m.columns {
			asked += float64(sizes[at])
		}
		for at := c; at < len(rooms); at += m.columns {
			offered += float64(rooms[at])
		}
		share[c] = asked / max(offered, 1)
	}
	out := make([]int, m.columns)
	for c := range out {
		out[c] = c
	}
	if m.columns > mixedColumns {
		slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(share[b], share[a]) })
		out = out[:mixedColumns]
		slices.Sort(out)
	}
	return out
}

// normalized returns the sizes of the items and the rooms of the slots in units of the largest slot. A room is what the slot offers to
// items that do not stay. A slot that holds more than it offers counts with what it holds; a slot that no item may use counts with nothing.
func (m *model) normalized(evicts bool) (sizes, rooms []int64) {
	rooms = make([]int64, len(m.rooms))
	holds, kept := make([]int64, len(m.rooms)), make([]int64, len(m.rooms))
	usable, all := make([]bool, len(m.on)), false
	for k := range m.items {
		it := &m.items[k]
		if it.home >= 0 {
			usable[it.home] = true
			for c, n := range m.need(k) {
				if holds[it.home*m.columns+c] += n; it.stays && !evicts {
					kept[it.home*m.columns+c] += n
				}
			}
		}
		stays := it.stays && !evicts
		if all = all || !stays && it.slots == nil; all || stays {
			continue
		}
		for _, i := range m.slots {
			usable[i] = usable[i] || it.slots[i]
		}
	}
	largest := make([]int64, m.columns)
	for _, i := range m.slots {
		if !usable[i] && !all {
			continue
		}
		for c := range largest {
			at := i*m.columns + c
			rooms[at] = max(m.rooms[at], holds[at]) - kept[at]
			largest[c] = max(largest[c], rooms[at])
		}
	}
	scale := func(list []int64) []int64 {
		out := make([]int64, len(list))
		for at, n := range list {
			switch top := largest[at%m.columns]; {
			case n <= 0:
			case top == 0:
				out[at] = unit + 1 // no slot offers the resource
			default:
				high, low := bits.Mul64(uint64(min(n, 2*top)), unit)
				q, _ := bits.Div64(high, low, uint64(top))
				out[at] = int64(q)
			}
		}
		return out
	}
	return scale(m.needs), scale(rooms)
}

// boundBy returns how many items of the last tier have a node at most by one weight, if the tiers above have so many.
func (m *model) boundBy(w weigh, sizes, rooms []int64, tiers [][]int, above []int) int {
	var room int64
	for _, i := range m.slots {
		room += w.of(rooms[i*m.columns : (i+1)*m.columns])
	}
	for t, items := range tiers {
		weights := make([]int64, len(items))
		for at, k := range items {
			weights[at] = w.of(sizes[k*m.columns : (k+1)*m.columns])
		}
		slices.Sort(weights)
		if t < len(above) {
			weights = weights[:above[t]]
		}
		for n, x := range weights {
			if room -= x; room < 0 && t == len(above) {
				return n
			}
		}
	}
	return len(tiers[len(above)])
}
