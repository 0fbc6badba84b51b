package reuse

import "slices"

// exceptions are the nodes whose own count of pods matters to a kind: pods that the kind counts run there, and no two nodes share the topology key.
// Their groups are by the group of the layout and by the counts. A kind whose states count for whole domains has none.
type exceptions struct {
	groups
	inBase []int32 // by group of the layout: how many of the nodes in its heap are exceptions
}

// some reports whether the kind can have exceptions.
func (x *exceptions) some() bool { return len(x.of) > 0 }

// build finds the exceptions among the nodes with a count.
func (x *exceptions) build(s *podKind) {
	x.clear()
	if !slices.ContainsFunc(s.counted, func(c counted) bool { return c.state.Single() }) {
		return
	}
	n, b := len(s.layout.of), &s.engine.buffers
	if k := len(b.spare); k > 0 && x.of == nil {
		x.groups, b.spare = b.spare[k-1], b.spare[:k-1]
	}
	x.of, x.at = none(x.of, n), none(x.at, n)
	b.slots = b.slots[:0]
	for k := range s.counted {
		b.slots = s.counted[k].state.AppendCounted(b.slots)
	}
	for _, i := range b.slots {
		x.regroup(s, i)
	}
	s.shifted = make([]uint64, len(s.counted))
	s.shift(s.shifted, nil)
}

func (x *exceptions) clear() {
	x.of, x.at, x.list, x.inBase = x.of[:0], x.at[:0], x.list[:0], x.inBase[:0]
	x.signatures.Clear()
}

// release gives the groups to kinds that are made later. The kind is not used any more.
func (x *exceptions) release(b *buffers) {
	if x.of != nil && len(b.spare) < maxSpare {
		x.clear()
		b.spare, x.groups = append(b.spare, x.groups), groups{}
	}
}

// regroup puts a slot into the group of its signature, or out of the exceptions.
func (x *exceptions) regroup(s *podKind, i int32) {
	if !x.some() || s.layout.of[i] < 0 {
		return
	}
	sign, base := &x.signatures, s.layout.of[i]
	sign.Next = append(sign.Next[:0], base)
	counted := false
	for k := range s.counted {
		var some bool
		sign.Next, some = s.counted[k].state.AppendCounts(sign.Next, int(i))
		counted = counted || some
	}
	x.leave(i)
	if !counted {
		return
	}
	x.place(i, x.find(base, s.layout.list[base].class))
	x.rank(s, i)
}

// leave takes a slot out of its group, if it has one.
func (x *exceptions) leave(i int32) {
	if x.of[i] >= 0 {
		base := x.list[x.of[i]].base
		x.add(base, x.groups.leave(i))
	}
}

// rank gives an exception its present place by rows. Without kept rows the heap is a list of the exceptions.
func (x *exceptions) rank(s *podKind, i int32) {
	key := int64(0)
	if w := s.layout.rows; w != nil {
		key = w.keys[i]
	}
	if grew := x.groups.rank(i, key); grew != 0 {
		x.add(x.list[x.of[i]].base, grew)
	}
}

func (x *exceptions) add(base, n int32) {
	for int(base) >= len(x.inBase) {
		x.inBase = append(x.inBase, 0)
	}
	x.inBase[base] += n
}

// within returns how many of the nodes in the heap of a group of the layout are exceptions.
func (x *exceptions) within(g int) int32 {
	if g < len(x.inBase) {
		return x.inBase[g]
	}
	return 0
}
