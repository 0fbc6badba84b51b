package reuse

// exceptions are the nodes whose own count of pods matters to a shape: pods that the shape counts run there, and no two nodes
// share the topology key. They have groups by signature, apart from the groups of the layout.
type exceptions struct {
	group  []int32 // by slot; -1: none
	where  []int32 // position in its heap; -1: rejected by its rows
	groups []exception
	inBase []int32 // by group of the layout: exceptions that its heap or scan counts too
	some   bool    // the shape can have exceptions

	signatures signatures // of the groups
}

// exception is the group of the exceptions with one signature.
type exception struct {
	base  int32 // their group of the layout
	size  int32
	heap  heap
	count int32
	top   heapEntry
}

// build finds the exceptions among the nodes with a count.
func (x *exceptions) build(s *shape) {
	*x = exceptions{group: x.group[:0], where: x.where[:0], groups: x.groups[:0], inBase: x.inBase[:0], signatures: x.signatures}
	x.signatures.clear()
	for k := range s.counted {
		x.some = x.some || s.counted[k].state.Single()
	}
	if !x.some {
		return
	}
	n := len(s.layout.group)
	x.group, x.where = append(x.group, make([]int32, n)...), append(x.where, make([]int32, n)...)
	for i := range n {
		x.group[i], x.where[i] = -1, -1
	}
	e := s.engine
	slots := e.room.slots[:0]
	for k := range s.counted {
		slots = s.counted[k].state.AppendCounted(slots)
	}
	e.room.slots = slots
	for _, i := range slots {
		x.move(s, i)
	}
	s.shifted = make([]uint64, len(s.counted))
	s.shift(s.shifted, nil)
}

// move puts a slot into the group of its signature, or out of the exceptions.
func (x *exceptions) move(s *shape, i int32) {
	if !x.some || s.layout.group[i] < 0 {
		return
	}
	sign := &x.signatures
	sign.next = append(sign.next[:0], s.layout.group[i])
	counted := false
	for k := range s.counted {
		var some bool
		sign.next, some = s.counted[k].state.AppendCounts(sign.next, int(i))
		counted = counted || some
	}
	x.leave(i)
	if !counted {
		return
	}
	g, known := sign.number()
	if !known {
		x.groups = append(x.groups, exception{base: s.layout.group[i]})
	}
	x.group[i] = g
	x.groups[g].size++
	x.rank(s, i)
}

// leave takes a slot out of its group.
func (x *exceptions) leave(i int32) {
	g := x.group[i]
	if g < 0 {
		return
	}
	x.group[i] = -1
	x.groups[g].size--
	if x.where[i] >= 0 {
		x.groups[g].heap.remove(int(x.where[i]), x.where)
		x.add(x.groups[g].base, -1)
	}
}

// rank gives an exception its present place by rows.
func (x *exceptions) rank(s *shape, i int32) {
	g, w := &x.groups[x.group[i]], s.layout.rows
	if w == nil { // the heap is a list of the exceptions
		if x.where[i] < 0 {
			g.heap.push(heapEntry{0, i}, x.where)
			x.add(g.base, 1)
		}
		return
	}
	key := w.keys[i]
	switch at := x.where[i]; {
	case at >= 0 && fits(key):
		if g.heap[at].key != key {
			g.heap.set(int(at), key, x.where)
		}
	case at >= 0:
		g.heap.remove(int(at), x.where)
		x.add(g.base, -1)
	case fits(key):
		g.heap.push(heapEntry{key, i}, x.where)
		x.add(g.base, 1)
	}
}

func (x *exceptions) add(base, n int32) {
	for int(base) >= len(x.inBase) {
		x.inBase = append(x.inBase, 0)
	}
	x.inBase[base] += n
}
