package boxes

import (
	"slices"

	"github.com/podberth/podberth/resources"
)

// box is a set of nodes with similar rows. Its bounds are the least and the most of every number among its nodes, or wider. A box with many nodes is
// divided by halves: its children have the nodes with a low or high share of cpu in use and a low or high share of memory in use.
type box struct {
	parent *box
	level  int // how often the range of shares was halved
	Bounds
	count    int32
	stale    int32 // changes since the bounds were made that may have left the bounds too wide
	divided  bool
	children [4]*box // of a divided box; nil: none
	slots    []int32 // of another box, by place
}

// Bounds are the least and the most of the rows of some nodes.
type Bounds struct {
	Allocatable, Requested [2]resources.Vector
	CPUMilli, MemoryBytes  [2]int64
	first                  int32 // no node comes before this place
}

const (
	levels  = 9  // how often the range of shares is halved at most
	crowded = 24 // nodes that a box has when it is divided
)

// child returns the child for a row, which it makes when there is none.
func (x *box) child(row *Bounds) *box {
	c := &x.children[row.childAt(x.level)]
	if *c == nil {
		*c = &box{parent: x, level: x.level + 1}
	}
	return *c
}

// widen takes other bounds into the bounds. empty: there is no row yet.
func (b *Bounds) widen(empty bool, o *Bounds) {
	if empty {
		n := max(len(o.Allocatable[0]), len(o.Requested[0]))
		memory := make(resources.Vector, 4*n) // one piece, because the numbers are read together
		for k := range 2 {
			b.Allocatable[k], b.Requested[k] = memory[:n:n], memory[n:2*n:2*n]
			memory = memory[2*n:]
			copy(b.Allocatable[k], o.Allocatable[k])
			copy(b.Requested[k], o.Requested[k])
		}
		b.CPUMilli, b.MemoryBytes, b.first = o.CPUMilli, o.MemoryBytes, o.first
		return
	}
	widen(&b.Allocatable, &o.Allocatable)
	widen(&b.Requested, &o.Requested)
	b.CPUMilli = [2]int64{min(b.CPUMilli[0], o.CPUMilli[0]), max(b.CPUMilli[1], o.CPUMilli[1])}
	b.MemoryBytes = [2]int64{min(b.MemoryBytes[0], o.MemoryBytes[0]), max(b.MemoryBytes[1], o.MemoryBytes[1])}
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
func (t *Tree) rowOf(i int32) Bounds {
	a, r := t.rows.Allocatable(int(i)), t.rows.Requested(int(i))
	cpu, memory := t.rows.NonZero(int(i))
	return Bounds{[2]resources.Vector{a, a}, [2]resources.Vector{r, r}, [2]int64{cpu, cpu}, [2]int64{memory, memory}, t.places[i]}
}

// childAt returns the place of a row among the children of a box of a level.
func (b *Bounds) childAt(level int) int {
	cpu := half(level, b.CPUMilli[0], b.Allocatable[0].At(resources.CPU))
	return cpu<<1 | half(level, b.MemoryBytes[0], b.Allocatable[0].At(resources.Memory))
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
func (x *box) take(row *Bounds) {
	x.widen(x.count == 0, row)
	x.count++
}

// changed notes that the bounds of a box may be too wide. After many changes it makes the bounds again.
func (x *box) changed(t *Tree) {
	if x.stale++; x.stale <= x.count/2+8 {
		return
	}
	x.stale = 0
	empty := true
	for _, c := range x.children {
		if c != nil && c.count > 0 {
			x.widen(empty, &c.Bounds)
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
func (x *box) put(t *Tree, i int32) {
	x.slots = slices.Insert(x.slots, x.position(t, i), i)
	t.leaf[i] = x
}

// drop takes a slot out of a box that is not divided.
func (x *box) drop(t *Tree, i int32) {
	at := x.position(t, i)
	x.slots = slices.Delete(x.slots, at, at+1)
	t.leaf[i] = nil
}

// position returns the position of a slot among the slots of the box.
func (x *box) position(t *Tree, i int32) int {
	at, _ := slices.BinarySearchFunc(x.slots, t.places[i], func(slot, place int32) int { return int(t.places[slot] - place) })
	return at
}

// divide gives the nodes of a box to children.
func (x *box) divide(t *Tree) {
	for _, i := range x.slots {
		row := t.rowOf(i)
		c := x.child(&row)
		c.take(&row)
		c.slots = append(c.slots, i)
		t.leaf[i] = c
	}
	x.divided, x.slots = true, nil
}
