package reuse

import "github.com/podberth/podberth/placement/internal/heap"

// spans divide an order of nodes into spans of neighbours, and keep of each span how many nodes with room it has and which is best: a walk takes
// a span in one step. A span with a node that changed is read again when a walk comes to it. The zero value divides nothing.
type spans struct {
	size  int
	order []int
	of    []int32 // by slot: its span; -1: none
	list  []span
}

type span struct {
	known  bool
	groups []spanGroup
}

// spanGroup is the nodes with room of one group in a span.
type spanGroup struct {
	group, count int32
	best         heap.Entry // its key has the place in the span as place in scan order
}

// divide divides an order of nodes, of so many slots, unless it is divided.
func (x *spans) divide(order []int, slots, size int) {
	if x.size == size && len(x.order) == len(order) && &x.order[0] == &order[0] {
		return
	}
	x.forget()
	for len(x.of) < slots {
		x.of = append(x.of, -1)
	}
	x.size, x.order, x.list = size, order, make([]span, (len(order)+size-1)/size)
	for at, i := range order {
		x.of[i] = int32(at / size)
	}
}

// forget ends the division.
func (x *spans) forget() {
	for _, i := range x.order {
		x.of[i] = -1
	}
	x.order, x.list = nil, nil
}

// touch says that a node has changed.
func (x *spans) touch(slot int32) {
	if int(slot) < len(x.of) && x.of[slot] >= 0 && int(x.of[slot]) < len(x.list) {
		x.list[x.of[slot]].known = false
	}
}

// slots returns the nodes of a span.
func (x *spans) slots(k int) []int { return x.order[k*x.size : min((k+1)*x.size, len(x.order))] }

// groups returns the groups of a span.
func (x *spans) groups(k int, l *layout) []spanGroup {
	p := &x.list[k]
	if !p.known {
		p.known = true
		p.read(x.slots(k), l)
	}
	return p.groups
}

func (p *span) read(slots []int, l *layout) {
	p.groups = p.groups[:0]
	for at, i := range slots {
		key := l.rows.keys[i]
		if !heap.Fits(key) {
			continue
		}
		g := 0
		for g < len(p.groups) && p.groups[g].group != l.of[i] {
			g++
		}
		if g == len(p.groups) {
			p.groups = append(p.groups, spanGroup{group: l.of[i]})
		}
		x := &p.groups[g]
		x.count++
		if key = heap.Key(heap.Score(key), int32(at)); key > x.best.Key {
			x.best = heap.Entry{Key: key, Slot: int32(i)}
		}
	}
}
