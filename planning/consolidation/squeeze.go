package consolidation

import (
	"cmp"
	"slices"

	"github.com/podberth/podberth/resources"
)

// squeeze tries to empty a node whose pods find no place where there is room. Pods that moved already change places: another node
// gives some of them away for pods that fill it more. The pods that are given away are smaller, so that they fit elsewhere, or take
// the place of still smaller pods. When pods are left over, nothing has changed.
func (x *search) squeeze(i int) bool {
	return x.attempt(i, func() bool {
		pool := x.loadsOn(i)
		for _, id := range pool {
			x.raise(id)
		}
		return x.distribute(pool, i)
	})
}

// distribute finds places for the loads of a pool, which were on a node. It reports whether all have one.
func (x *search) distribute(pool []int32, from int) bool {
	open, partners := x.open(from)
	pool = x.settle(pool, open)
	for loose := 0; len(pool) > 0; {
		traded := false
		for _, k := range partners {
			if len(pool) == 0 || x.stopped() {
				break
			}
			if t, ok := x.exchange(x.trades(pool, k), k); ok {
				traded = true
				pool = x.after(t, pool, open)
			}
		}
		if traded || len(pool) == 0 {
			continue
		}
		if loose++; loose > mostLoose || len(pool) > 2 {
			break
		}
		if partners, pool = x.loosen(pool, partners, open); pool == nil {
			return false
		}
	}
	return len(pool) == 0
}

// after returns the pool after a trade. What left a node is placed where there is room.
func (x *search) after(t trade, pool []int32, open []int) []int32 {
	pool = slices.DeleteFunc(pool, func(id int32) bool { return id == t.in[0] || id == t.in[1] })
	return append(pool, x.settle(slices.DeleteFunc(t.out[:], func(id int32) bool { return id < 0 }), open)...)
}

// mostLoose is how often a node gives a larger pod away for a smaller one.
const mostLoose = 12

// loosen makes a node that has little room give a larger load away for a load of the pool, so that there is room for a second load
// like that one: two rooms that are too small become one that is large enough, once the larger load takes the place of a smaller one
// elsewhere. The node takes part in no other trade. The pool is nil when there is no such node.
func (x *search) loosen(pool []int32, partners []int, open []int) ([]int, []int32) {
	p := &x.loads[pool[len(pool)-1]]
	twice := slices.Clone(p.asks)
	twice.Add(p.asks)
	for at, k := range partners {
		best := int32(-1)
		for _, id := range x.on[k] {
			if g := &x.loads[id]; x.guest(id) && g.size > p.size+tiny && (best < 0 || g.size < x.loads[best].size) {
				used := slices.Clone(x.snapshot.Requested(k)).Grow(x.base.Schema().Len())
				used.Sub(g.asks)
				if covers(x.snapshot.Allocatable(k), used, twice) {
					best = id
				}
			}
		}
		if best < 0 {
			continue
		}
		if t, ok := x.exchange([]trade{{out: [2]int32{best, -1}, in: [2]int32{pool[len(pool)-1], -1}}}, k); ok {
			return slices.Delete(partners, at, at+1), x.after(t, pool, open)
		}
	}
	return nil, nil
}

// open returns the nodes that stay, and those of them that have pods that moved there, in a random order.
func (x *search) open(but int) (all, partners []int) {
	leave := x.span(but)
	for k := range x.nodes {
		if slices.Contains(leave, k) || x.empty[k] || x.nodes[k].object == nil {
			continue
		}
		all = append(all, k)
		if slices.ContainsFunc(x.on[k], x.guest) {
			partners = append(partners, k)
		}
	}
	x.random.Shuffle(len(partners), func(a, b int) { partners[a], partners[b] = partners[b], partners[a] })
	return all, partners
}

// guest reports whether a load is on another node than before the plan, and may be moved again.
func (x *state) guest(id int32) bool {
	l := &x.loads[id]
	return x.at[id] != l.slot && !l.claims
}

// settle places the loads of a pool that some node has room for, the largest first, and returns the others.
func (x *search) settle(pool []int32, open []int) (left []int32) {
	slices.SortFunc(pool, func(a, b int32) int {
		return cmp.Or(cmp.Compare(x.loads[b].size, x.loads[a].size), cmp.Compare(a, b))
	})
	for _, id := range pool {
		asks := x.loads[id].asks
		room := slices.ContainsFunc(open, func(k int) bool { return covers(x.snapshot.Allocatable(k), x.snapshot.Requested(k), asks) })
		if !room || !x.move(id) {
			left = append(left, id)
		}
	}
	return left
}

// covers reports whether a node that offers so much, of which so much is in use, has what a request asks for.
func covers(offer, used, asks resources.Vector) bool {
	for c, n := range asks {
		if n > 0 && n > offer.At(c)-used.At(c) {
			return false
		}
	}
	return true
}

// trade is guests of a node that leave, and loads of the pool that come: at most two of each.
type trade struct {
	out, in [2]int32 // -1: none
	gain    float64
	finer   int // how many more loads leave than come
}

// exchange makes the first of some trades that the filters and the rules of other pods allow. Without one nothing has changed. The
// mark of a trade ends with that of attempt.
func (x *search) exchange(trades []trade, k int) (trade, bool) {
	for _, t := range trades {
		m := x.mark()
		if x.make(t, k) {
			return t, true
		}
		x.takeBack(m)
	}
	return trade{}, false
}

// make makes a trade. It reports whether the filters allow it.
func (x *search) make(t trade, k int) bool {
	for _, id := range t.out {
		if id >= 0 {
			x.raise(id)
		}
	}
	for _, id := range t.in {
		if id < 0 {
			continue
		}
		if _, ok := x.try(id, x.nodes[k].object.Name); !ok || x.at[id] != int32(k) {
			return false
		}
	}
	return true
}

// Limits of trades for one node: how many loads of the pool are looked at, and how many trades the filters are asked about.
const (
	mostPool   = 12
	mostTrades = 4
)

// trades returns the trades that fill a node most, best first. Each fills the node more than before, or as much with larger loads in
// the place of more smaller ones.
func (x *search) trades(pool []int32, k int) (best []trade) {
	guests := slices.DeleteFunc(slices.Clone(x.on[k]), func(id int32) bool { return !x.guest(id) })
	outs, ins := x.pairs(guests), x.pairs(pool[:min(len(pool), mostPool)])
	offer := x.snapshot.Allocatable(k)
	for _, out := range outs {
		used := slices.Clone(x.snapshot.Requested(k)).Grow(x.base.Schema().Len())
		given, n := 0.0, 0
		for _, id := range out {
			if id >= 0 {
				used.Sub(x.loads[id].asks)
				given += x.loads[id].size
				n++
			}
		}
		for _, in := range ins[1:] {
			t := trade{out: out, in: in, gain: -given, finer: n}
			for _, id := range in {
				if id >= 0 {
					t.gain += x.loads[id].size
					t.finer--
				}
			}
			if !t.better(trade{}) || len(best) == mostTrades && !t.better(best[mostTrades-1]) || !x.fits(in, offer, used) {
				continue
			}
			best = append(best, t)
			slices.SortStableFunc(best, func(a, b trade) int {
				switch {
				case a.better(b):
					return -1
				case b.better(a):
					return 1
				}
				return 0
			})
			best = best[:min(len(best), mostTrades)]
		}
	}
	return best
}

// tiny is a share of the cluster that is less than any pod's.
const tiny = 1e-12

func (t trade) better(o trade) bool {
	if t.gain > o.gain+tiny || t.gain < o.gain-tiny {
		return t.gain > o.gain
	}
	return t.finer > o.finer
}

// fits reports whether one or two loads fit on a node together.
func (x *search) fits(in [2]int32, offer, used resources.Vector) bool {
	asks := x.loads[in[0]].asks
	if in[1] >= 0 {
		asks = slices.Clone(asks).Grow(len(x.loads[in[1]].asks))
		asks.Add(x.loads[in[1]].asks)
	}
	return covers(offer, used, asks)
}

// pairs returns no load, each load, and each two loads of a list.
func (x *search) pairs(list []int32) [][2]int32 {
	out := [][2]int32{{-1, -1}}
	for a, id := range list {
		out = append(out, [2]int32{id, -1})
		for _, other := range list[a+1:] {
			out = append(out, [2]int32{id, other})
		}
	}
	return out
}
