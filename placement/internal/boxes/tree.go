// Package boxes finds the best node for a pod whose requests no other pod has, without a look at every node.
//
//	t := boxes.New(rows, places, order, groups)
//	t.Update(slot, group)             // after the rows or the group of a node changed
//	t.Search(group, &judge, &search)  // how many nodes have room, which is best, and how the others are rejected
//
// A row is what a node offers and what its pods ask for. Nodes of one group with similar rows are in one box, and a box knows the least and
// the most of each number of its rows. From these follow a verdict that all of its nodes get, and a score that none of them exceeds: a
// [Judge] says both. The search counts whole boxes where it can, and looks into a box only if the box may have a better node than the best.
//
// The boxes at the top have the nodes of one group that offer about the same. A box with many nodes has up to four children. A change moves one node:
// O(depth), and O(nodes of a box) to make bounds again after many changes. A search costs as much as there are boxes whose bounds leave something open.
//
// The tree reads the rows and places that it was given, and changes neither. It belongs to one goroutine.
package boxes

import (
	"encoding/binary"
	"math/bits"

	"github.com/podberth/podberth/resources"
)

// Rows has the row of each slot, as a cluster.Snapshot has.
type Rows interface {
	Allocatable(i int) resources.Vector
	Requested(i int) resources.Vector
	NonZero(i int) (cpuMilli, memoryBytes int64)
}

// Tree keeps nodes in boxes. New makes one; the zero value is not usable.
type Tree struct {
	rows   Rows
	places []int32
	groups []offers // by group
	leaf   []*box   // by slot: the box that has the slot
	key    []byte
}

// offers are the boxes of a group, by what their nodes offer.
type offers struct {
	index map[string]*box
	boxes []*box // in the order in which they were made
}

// New returns a tree of the nodes in order. places and groups have the place in order and the group of each slot.
func New(rows Rows, places []int32, order []int, groups []int32) *Tree {
	t := &Tree{rows: rows, places: places, leaf: make([]*box, len(groups))}
	for _, i := range order {
		row := t.rowOf(int32(i))
		t.insert(int32(i), groups[i], &row)
	}
	return t
}

// top returns the box at the top for a row of a group; nil when there is none and none is to be made.
func (t *Tree) top(g int32, row *Bounds, make bool) *box {
	for int(g) >= len(t.groups) {
		t.groups = append(t.groups, offers{index: map[string]*box{}})
	}
	o := &t.groups[g]
	t.key = appendOffer(t.key[:0], row)
	x := o.index[string(t.key)]
	if x == nil && make {
		x = &box{}
		o.index[string(t.key)], o.boxes = x, append(o.boxes, x)
	}
	return x
}

// appendOffer appends what is allocatable, each amount by its five leading bits. An amount of 0 differs from all others: the bounds
// of a box say nothing about nodes of which only some have a resource.
func appendOffer(dst []byte, row *Bounds) []byte {
	const leading = 5
	end := len(dst)
	for _, v := range row.Allocatable[0] {
		if v <= 0 {
			dst = append(dst, 0)
			continue
		}
		n := bits.Len64(uint64(v))
		dst = append(dst, byte(n))
		dst = binary.AppendUvarint(dst, uint64(v)<<(64-n)>>(64-leading))
		end = len(dst)
	}
	return dst[:end] // a row may end early
}

func (t *Tree) insert(i, g int32, row *Bounds) {
	x := t.top(g, row, true)
	for {
		x.take(row)
		if !x.divided && (len(x.slots) < crowded || x.level == levels) {
			x.put(t, i)
			return
		}
		if !x.divided {
			x.divide(t)
		}
		x = x.child(row)
	}
}

// Update takes a slot to the box of its row and group g. A negative group takes the slot out of its box: the slot is free. A slot that
// has come may be in no box yet.
func (t *Tree) Update(slot int, g int32) {
	i := int32(slot)
	old, row := t.leaf[i], t.rowOf(i)
	if g >= 0 {
		x := t.top(g, &row, false)
		for x != nil && x.divided {
			x = x.children[row.childAt(x.level)]
		}
		if x == old && x != nil {
			for ; x != nil; x = x.parent {
				x.widen(false, &row)
				x.changed(t)
			}
			return
		}
	}
	if old != nil {
		old.drop(t, i)
		for x := old; x != nil; x = x.parent {
			x.count--
			x.changed(t)
		}
	}
	if g >= 0 {
		t.insert(i, g, &row)
	}
}
