package reuse

import (
	"slices"

	"github.com/podberth/podberth/resources"
)

// box is a set of nodes with similar rows. Its bounds are the least and the most of every number among its nodes, or wider. A box
// with many nodes is divided by halves: its children have the nodes with a low or high share of cpu in use and a low or high share
// of memory in use.
type box struct {
	parent *box
	level  int // how often the range of shares was halved
	bounds
	count    int32
	loose    int32 // changes since the bounds were made that may have left the bounds too wide
	divided  bool
	children [4]*box // of a divided box; nil: none
	slots    []int32 // of another box, in scan order
}

// bounds are the least and the most of the rows of some nodes.
type bounds struct {
	allocatable, requested [2]resources.Vector
	cpu, memory            [2]int64
	first                  int32 // no node comes before this place in scan order
}

const (
	levels  = 9  // how often the range of shares is halved at most
	crowded = 24 // nodes that a box has when it is divided
)

func newBox(parent *box) *box {
	x := &box{parent: parent}
	if parent != nil {
		x.level = parent.level + 1
	}
	return x
}

// child returns the child for a row, which it makes when there is none.
func (x *box) child(row *bounds) *box {
	c := &x.children[row.placeAt(x.level)]
	if *c == nil {
		*c = newBox(x)
	}
	return *c
}

// widen makes room in the bounds for other bounds. empty: there is no row yet.
func (b *bounds) widen(empty bool, o *bounds) {
	if empty {
		n := max(len(o.allocatable[0]), len(o.requested[0]))
		room := make(resources.Vector, 4*n) // one piece of memory, because the numbers are read together
		for k := range 2 {
			b.allocatable[k], b.requested[k] = room[:n:n], room[n:2*n:2*n]
			room = room[2*n:]
			copy(b.allocatable[k], o.allocatable[k])
			copy(b.requested[k], o.requested[k])
		}
		b.cpu, b.memory, b.first = o.cpu, o.memory, o.first
		return
	}
	widen(&b.allocatable, &o.allocatable)
	widen(&b.requested, &o.requested)
	b.cpu = [2]int64{min(b.cpu[0], o.cpu[0]), max(b.cpu[1], o.cpu[1])}
	b.memory = [2]int64{min(b.memory[0], o.memory[0]), max(b.memory[1], o.memory[1])}
	b.first = min(b.first, o.first)
}

func widen(b, o *[2]resources.Vector) {
	n := max(len(b[0]), len(o[0]))
	for k := range b {
		for len(b[k]) < n {
			b[k] = append(b[k], 0) // a short row has zeros at its end
		}
	}
	for c := range n {
		b[0][c], b[1][c] = min(b[0][c], o[0].At(c)), max(b[1][c], o[1].At(c))
	}
}

// rowOf returns the row of a slot as bounds.
func (t *tree) rowOf(i int32) bounds {
	a, r := t.log.Allocatable(int(i)), t.log.Requested(int(i))
	cpu, memory := t.log.NonZero(int(i))
	return bounds{[2]resources.Vector{a, a}, [2]resources.Vector{r, r}, [2]int64{cpu, cpu}, [2]int64{memory, memory}, t.rank[i]}
}

// placeAt returns the place of a row among the children of a box of a level.
func (b *bounds) placeAt(level int) int {
	cpu := half(level, b.cpu[0], b.allocatable[0].At(resources.CPU))
	return cpu<<1 | half(level, b.memory[0], b.allocatable[0].At(resources.Memory))
}

// half returns 0 or 1 for the lower or upper half, after the range of shares was halved some times.
func half(level int, used, all int64) int {
	const most = 1<<levels - 1
	if all <= 0 {
		return 0
	}
	return int(min(1, float64(max(0, used))/float64(all))*most) >> (levels - 1 - level) & 1
}

// take counts one more row.
func (x *box) take(row *bounds) {
	x.widen(x.count == 0, row)
	x.count++
}

// changed notes that the bounds of a box may be too wide. After many changes it makes the bounds again.
func (x *box) changed(t *tree) {
	if x.loose++; x.loose <= x.count/2+8 {
		return
	}
	x.loose = 0
	empty := true
	for _, c := range x.children {
		if c != nil && c.count > 0 {
			x.widen(empty, &c.bounds)
			empty = false
		}
	}
	for _, i := range x.slots {
		row := t.rowOf(i)
		x.widen(empty, &row)
		empty = false
	}
}

// put adds a slot to a box that is not divided.
func (x *box) put(t *tree, i int32) {
	x.slots = slices.Insert(x.slots, x.position(t, i), i)
	t.leaf[i] = x
}

// drop takes a slot out of a box that is not divided.
func (x *box) drop(t *tree, i int32) {
	at := x.position(t, i)
	x.slots = slices.Delete(x.slots, at, at+1)
	t.leaf[i] = nil
}

// position returns the position of a slot in scan order.
func (x *box) position(t *tree, i int32) int {
	at, _ := slices.BinarySearchFunc(x.slots, t.rank[i], func(slot, rank int32) int { return int(t.rank[slot] - rank) })
	return at
}

// divide gives the nodes of a box to children.
func (x *box) divide(t *tree) {
	for _, i := range x.slots {
		row := t.rowOf(i)
		c := x.child(&row)
		c.take(&row)
		c.slots = append(c.slots, i)
		t.leaf[i] = c
	}
	x.divided, x.slots = true, nil
}
