package reuse

import (
	"encoding/binary"
	"math/bits"
)

// tree keeps the nodes of a layout in boxes of similar rows. A pod with requests that no other pod has is asked about boxes: from the
// bounds of a box follow a verdict that all of its nodes get, and a score that none of them exceeds. So most nodes need no look.
//
// The boxes at the top have the nodes of one group of the layout that offer about the same. An event moves one node.
type tree struct {
	log     Log
	version uint64
	orders  int // of the engine, when the slots were sorted
	rank    []int32
	groups  []offers // by group of the layout
	leaf    []*box   // by slot: the box that has the slot
	moved   []int32  // slots that have another group
	key     []byte
}

// offers are the boxes of a group, by what their nodes offer.
type offers struct {
	index map[string]int
	boxes []*box
}

func newTree(e *Engine, l *layout) *tree {
	t := &tree{log: e.log, version: e.log.Version(), rank: e.ranks(), leaf: make([]*box, len(l.group))}
	t.orders = e.orders
	for _, i := range e.order() {
		row := t.rowOf(int32(i))
		t.insert(int32(i), l.group[i], &row)
	}
	return t
}

// follow brings the boxes to the version of the cluster. It reports false when the log does not reach back that far, or when so much
// has changed that a look at every node takes less time.
func (t *tree) follow(e *Engine, l *layout) bool {
	if e.ranks(); t.orders != e.orders {
		return false
	}
	for _, i := range t.moved {
		t.update(i, l.group[i])
	}
	t.moved = t.moved[:0]
	version := e.log.Version()
	if version == t.version {
		return true
	}
	blocks, known := e.since(t.version)
	events := 0
	for _, block := range blocks {
		events += len(block)
	}
	if !known || 4*events > len(t.leaf) {
		return false
	}
	for _, block := range blocks {
		for k := range block {
			if slot := block[k].Node; slot >= 0 {
				t.update(slot, l.group[slot])
			}
		}
	}
	t.version = version
	return true
}

// top returns the box at the top for a row of a group; nil when there is none and none is to be made.
func (t *tree) top(g int32, row *bounds, make bool) *box {
	for int(g) >= len(t.groups) {
		t.groups = append(t.groups, offers{index: map[string]int{}})
	}
	o := &t.groups[g]
	t.key = appendOffer(t.key[:0], row)
	k, ok := o.index[string(t.key)]
	if !ok && !make {
		return nil
	}
	if !ok {
		k = len(o.boxes)
		o.index[string(t.key)] = k
		o.boxes = append(o.boxes, newBox(nil))
	}
	return o.boxes[k]
}

// appendOffer appends what is allocatable, each amount by its five leading bits. An amount of 0 differs from all others: the bounds
// of a box say nothing about nodes of which only some have a resource.
func appendOffer(dst []byte, row *bounds) []byte {
	const leading = 5
	end := len(dst)
	for _, v := range row.allocatable[0] {
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

func (t *tree) insert(i, g int32, row *bounds) {
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

// update takes a slot to the box of its row and group, or out of its box when the slot is free: a node that has come may have been
// rolled back.
func (t *tree) update(i, g int32) {
	old, row := t.leaf[i], t.rowOf(i)
	if g < 0 {
		if old != nil {
			t.remove(i)
		}
		return
	}
	x := t.top(g, &row, false)
	for x != nil && x.divided {
		x = x.children[row.placeAt(x.level)]
	}
	if x != old || old == nil {
		if old != nil {
			t.remove(i)
		}
		t.insert(i, g, &row)
		return
	}
	for ; x != nil; x = x.parent {
		x.widen(false, &row)
		x.changed(t)
	}
}

func (t *tree) remove(i int32) {
	x := t.leaf[i]
	x.drop(t, i)
	for ; x != nil; x = x.parent {
		x.count--
		x.changed(t)
	}
}
