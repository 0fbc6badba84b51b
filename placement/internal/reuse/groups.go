package reuse

import (
	"slices"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement/internal/heap"
	"github.com/podberth/podberth/placement/internal/intern"
	"github.com/podberth/podberth/resources"
)

// groups divide nodes by signature: nodes with equal lists of integers are in one group. A layout divides all nodes. The exceptions of a
// kind are groups too, of nodes that also are in groups of the layout.
type groups struct {
	of         []int32 // by slot: its group; -1: none
	at         []int32 // by slot: its position in the heap of its group; -1: it is in no heap. nil: there are no heaps
	list       []group
	signatures intern.Lists // of the groups
}

// group is the nodes of one signature. They differ only in their rows.
type group struct {
	base    int32 // group of the layout: the group itself, or that of exceptions
	class   int32
	size    int32
	member  int32     // in a layout: a slot of the group; any number when the group is empty
	heap    heap.Heap // the nodes that their rows do not reject
	rejects []tally   // in a layout: the others

	before filter.Rejection // in a layout: by a predicate between those of static and that over rows

	count   int32 // in a scan: nodes that are not rejected
	top     heap.Entry
	without int32 // in gather: nodes that count as not feasible

	asleep bool // in exceptions: a predicate rejects the nodes, and the heap is in no order

	level int64    // a score that nodes in the heap have: many often have the largest, and a placement changes one of them
	tied  []uint64 // these nodes, by place in scan order; empty: they are not known
}

// change says that a node of the heap has another key. A key that does not fit is none.
func (g *group) change(from, to int64) {
	for _, key := range [2]int64{from, to} {
		if place := heap.Place(key); len(g.tied) > 0 && heap.Score(key) == g.level {
			g.tied[place/64] ^= 1 << (place % 64)
		}
	}
}

// flip flips the bits of the nodes in the heap that have a score. A large group keeps which nodes these are.
func (g *group) flip(score int64, bits []uint64) {
	if g.asleep {
		for k := range g.heap {
			g.heap[k:k+1].Flip(score, bits)
		}
		return
	}
	if len(g.heap) < len(bits) {
		g.heap.Flip(score, bits)
		return
	}
	if len(g.tied) == 0 || g.level != score {
		g.level, g.tied = score, append(g.tied[:0], make([]uint64, len(bits))...)
		g.heap.Flip(score, g.tied)
	}
	for k, word := range g.tied {
		bits[k] ^= word
	}
}

// tally counts nodes by the verdict of their rows.
type tally struct {
	verdict resources.Verdict
	n       int32
}

// has reports whether a slot is in a group.
func (x *groups) has(i int32) bool { return len(x.of) > 0 && x.of[i] >= 0 }

// find returns the group of the signature in signatures.Next. It makes the group when there is none, with this base (-1: the group itself) and
// this class.
func (x *groups) find(base, class int32) int32 {
	g, known := x.signatures.Number()
	if !known {
		if base < 0 {
			base = g
		}
		x.grow(group{base: base, class: class})
	}
	return g
}

// grow adds a group, in the memory of a group that the list had before.
func (x *groups) grow(g group) {
	n := len(x.list)
	if n == cap(x.list) {
		x.list = append(x.list, g)
		return
	}
	x.list = x.list[:n+1]
	old := &x.list[n]
	g.heap, g.rejects, g.tied = old.heap[:0], old.rejects[:0], old.tied[:0]
	*old = g
}

// place puts a slot that is in no group into a group. rank gives it its place there.
func (x *groups) place(i, g int32) {
	x.of[i] = g
	x.list[g].size++
}

// leave takes a slot out of its group, and returns by how many the heap of the group grew: 0 or -1.
func (x *groups) leave(i int32) (grew int32) {
	g := &x.list[x.of[i]]
	x.of[i] = -1
	g.size--
	if len(x.at) > 0 && x.at[i] >= 0 {
		g.change(g.heap[x.at[i]].Key, -1)
		g.heap.Remove(int(x.at[i]), x.at)
		grew = -1
	}
	return grew
}

// rank gives a slot its place in the heap of its group, and returns by how many the heap grew. A slot whose key does not fit has no place.
func (x *groups) rank(i int32, key int64) (grew int32) {
	g := &x.list[x.of[i]]
	at, before := int(x.at[i]), int64(-1)
	if at >= 0 {
		before = g.heap[at].Key
	}
	g.change(before, key)
	switch {
	case at < 0 && heap.Fits(key):
		g.heap.Push(heap.Entry{Key: key, Slot: i}, x.at)
		return 1
	case at >= 0 && !heap.Fits(key):
		g.heap.Remove(at, x.at)
		return -1
	case at >= 0 && g.asleep:
		g.heap[at].Key = key
	case at >= 0 && before != key:
		g.heap.Set(at, key, x.at)
	}
	return 0
}

// tally counts n nodes that their rows reject.
func (g *group) tally(v resources.Verdict, n int32) {
	for k := range g.rejects {
		if g.rejects[k].verdict == v {
			g.rejects[k].n += n
			return
		}
	}
	g.rejects = append(g.rejects, tally{v, n})
}

// offer counts a node with room in a scan.
func (g *group) offer(key int64, i int32) {
	if g.count++; key > g.top.Key {
		g.top = heap.Entry{Key: key, Slot: i}
	}
}

// none returns a slot list with -1 for every slot, in the memory of another list.
func none(list []int32, slots int) []int32 {
	list = slices.Grow(list[:0], slots)[:slots]
	for i := range list {
		list[i] = -1
	}
	return list
}
