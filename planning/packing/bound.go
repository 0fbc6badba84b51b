package packing

import (
	"math/bits"
	"slices"
)

// unit is the size of the largest node in each column of the bound.
const unit = 1 << 20

// bounds returns for each tier how many of its pods can have a node at most, if each tier above has as many pods as its own bound.
// No vector of placed pods is better. Each weight bounds the pods on its own: what the pods of a node weigh together is at most
// what the node holds, because amounts are rounded down.
func (m *model) bounds() []int {
	bound := make([]int, len(m.tiers))
	if len(m.slots) == 0 {
		return bound
	}
	for k := range m.items {
		bound[m.items[k].tier]++
	}
	sizes, rooms := m.normalized()
	mixes := m.mixes()
	for tier := range bound {
		for _, mix := range mixes {
			for parts := range mostParts + 1 {
				bound[tier] = min(bound[tier], m.boundBy(weigh{mix, int64(parts)}, sizes, rooms, bound[:tier], tier))
			}
		}
	}
	return bound
}

// mostParts is the number of parts into which a weight divides a node at most.
const mostParts = 12

// weigh is a weight of pods: the sum of the columns, each times its factor, in parts of the largest node. 0 parts: not rounded.
type weigh struct {
	mix   []int64
	parts int64
}

// of returns the weight of amounts. The weight of a sum is at least the sum of the weights.
func (w weigh) of(amounts []int64) int64 {
	var sum, total int64
	for c, f := range w.mix {
		sum, total = sum+f*amounts[c], total+f
	}
	if w.parts == 0 {
		return sum
	}
	return sum * w.parts / (total * unit)
}

// mixes returns the factors of the columns: each column alone, and each two in three proportions.
func (m *model) mixes() (out [][]int64) {
	add := func(a, b int, x, y int64) {
		mix := make([]int64, m.columns)
		mix[a], mix[b] = x, y
		out = append(out, mix)
	}
	for a := range m.columns {
		add(a, a, 1, 1)
		for b := range a {
			add(a, b, 1, 1)
			add(a, b, 1, 2)
			add(a, b, 2, 1)
		}
	}
	return out
}

// normalized returns the sizes of the items and the rooms of the slots in units of the largest slot. A slot that holds more
// than it offers counts with what it holds; a slot that no item may use counts with nothing.
func (m *model) normalized() (sizes, rooms []int64) {
	rooms = make([]int64, len(m.rooms))
	holds := make([]int64, len(m.rooms))
	usable, all := make([]bool, len(m.on)), false
	for k := range m.items {
		it := &m.items[k]
		if it.home >= 0 {
			usable[it.home] = true
			for c, n := range m.need(k) {
				holds[it.home*m.columns+c] += n
			}
		}
		if all = all || !it.stays && it.slots == nil; all || it.stays {
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
			rooms[at] = max(m.rooms[at], holds[at])
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

// boundBy returns how many items of a tier have a node at most by one weight, if the tiers above have so many.
func (m *model) boundBy(w weigh, sizes, rooms []int64, above []int, tier int) int {
	var room int64
	for _, i := range m.slots {
		room += w.of(rooms[i*m.columns : (i+1)*m.columns])
	}
	byTier := make([][]int64, tier+1)
	for k := range m.items {
		if t := m.items[k].tier; t <= tier {
			byTier[t] = append(byTier[t], w.of(sizes[k*m.columns:(k+1)*m.columns]))
		}
	}
	for t := range byTier {
		slices.Sort(byTier[t])
	}
	for t, n := range above {
		for _, x := range byTier[t][:n] {
			room -= x
		}
	}
	n := 0
	for _, x := range byTier[tier] {
		if room -= x; room < 0 {
			return n
		}
		n++
	}
	return n
}
