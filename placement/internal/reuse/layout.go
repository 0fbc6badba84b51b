package reuse

import (
	"slices"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/resources"
)

// layout divides the nodes into groups of equal signature. The nodes of a group differ only in their rows. Everything else is
// asked once for each group: verdicts that change for a whole domain, and scores that are normalized over all feasible nodes.
//
// Shapes share a layout when they have the same requests, tolerate and select the same nodes, and count by the same topology
// keys: a signature holds no counts. Where the count of a single node matters, because no two nodes share the topology key,
// the node is an exception of the shape.
type layout struct {
	version uint64
	changes int
	orders  int      // of the engine, when the heaps were filled
	plugins []int    // that the states are of
	shifted []uint64 // by state: the version that Shifted returned
	shifts  bool     // a state is Shifting
	storage bool     // storage objects matter to the pods
	rows    *rows    // nil: the groups have no heaps

	group  []int32             // by slot; -1: a free slot
	where  []int32             // position in the group's heap; -1: rejected by the slot's own rows
	reject []resources.Verdict // that verdict, as counted in the group
	groups []group

	moves int   // of slots to other groups
	scans int   // by shapes without heaps
	tree  *tree // for these

	whole, part spans // of all nodes, and of the nodes that were asked about alone

	signatures signatures // of the groups
}

// group is the nodes of one signature.
type group struct {
	size    int32
	class   int32
	member  int32 // a slot of the group; any number when the group is empty
	heap    heap
	rejects []tally // of the nodes that their rows reject

	before filter.Rejection // by a predicate between those of static and that over rows

	count int32 // in a scan: nodes that are not rejected
	top   heapEntry
}

// tally counts nodes by the verdict of their rows.
type tally struct {
	verdict resources.Verdict
	n       int32
}

// The first byte of a layout's key says what follows.
const (
	bareLayout  byte = iota // keys of statics, and states
	rowsLayout              // and keys of rows
	looseLayout             // a partition, and states
)

// lay gives the shape its layout, which it makes when there is none, and its exceptions.
func (e *Engine) lay(s *shape) {
	b := append(e.room.key[:0], bareLayout)
	if s.static.partition == "" {
		b = e.staticKeys.append(b, s.pod)
	} else {
		b[0] = looseLayout
		b = key.Text(b, s.static.partition)
	}
	b = key.Len(b, len(s.counted))
	for k := range s.counted {
		b = key.Len(b, s.counted[k].plugin)
		at := len(b)
		b = key.Close(s.counted[k].state.AppendLayoutKey(key.Open(b)), at)
	}
	n := len(b)
	if s.rows != nil { // then the statics have no partition
		b[0] = rowsLayout
		b = e.rowKeys.append(b, s.pod)
	}
	e.room.key = b
	l, ok := e.layouts[string(b)]
	if !ok {
		name := string(b)
		var bare *layout
		if s.rows != nil {
			b[0] = bareLayout
			bare = e.layouts[string(b[:n])]
		}
		l = e.newLayout(s, bare)
		e.layouts[name] = l
	}
	s.layout = l
	l.follow(e, s)
	s.exceptions.build(s)
}

// newLayout makes a layout. bare has the same groups without heaps; nil: there is no such layout.
func (e *Engine) newLayout(s *shape, bare *layout) *layout {
	l := &layout{
		version: e.log.Version(), changes: len(e.changes), orders: e.orders, storage: s.static.storage, rows: s.rows, shifts: s.shifts,
	}
	for k := range s.counted {
		l.plugins = append(l.plugins, s.counted[k].plugin)
	}
	if bare != nil {
		bare.follow(e, s)
		l.copyGroups(bare)
	} else {
		l.group = make([]int32, e.log.Len())
		for i := range l.group {
			l.group[i] = -1
		}
		known := make([]int32, len(s.static.verdict)) // by class: a group, and 1 more
		divided := false                              // states divide the nodes of a class
		for _, i := range e.order() {
			class := s.static.class[i]
			g := known[class] - 1
			if g < 0 || divided {
				g = l.find(s, int32(i))
				known[class], divided = g+1, len(l.signatures.next) > 1
			}
			l.group[i] = g
			l.groups[g].size++
		}
	}
	l.shifted = make([]uint64, len(s.counted))
	s.shift(l.shifted, nil)
	if l.rows != nil {
		l.where, l.reject = make([]int32, len(l.group)), make([]resources.Verdict, len(l.group))
		for i := range l.where {
			l.where[i] = -1
		}
		l.refill(e)
	}
	return l
}

// copyGroups takes over the groups of another layout.
func (l *layout) copyGroups(from *layout) {
	l.group, l.groups, l.signatures = slices.Clone(from.group), slices.Clone(from.groups), from.signatures.clone()
	for g := range l.groups {
		x := &l.groups[g]
		*x = group{size: x.size, class: x.class, member: x.member}
	}
}

func (l *layout) find(s *shape, i int32) int32 {
	x := &l.signatures
	x.next = append(x.next[:0], s.static.class[i])
	for k := range s.counted {
		x.next = s.counted[k].state.AppendDomains(x.next, int(i))
	}
	g, known := x.number()
	if !known {
		l.groups = append(l.groups, group{class: s.static.class[i]})
	}
	l.groups[g].member = i
	return g
}

// enter puts a slot into the heap of its group, or counts the verdict that rejects it.
func (l *layout) enter(i int32) {
	if l.rows == nil {
		return
	}
	g := &l.groups[l.group[i]]
	if key := l.rows.keys[i]; fits(key) {
		g.heap.push(heapEntry{key, i}, l.where)
		return
	}
	l.reject[i] = l.rows.reject[i]
	g.tally(l.reject[i], 1)
}

// leave takes a slot out of the heap or out of the count.
func (l *layout) leave(i int32) {
	if l.rows == nil {
		return
	}
	g := &l.groups[l.group[i]]
	if l.where[i] >= 0 {
		g.heap.remove(int(l.where[i]), l.where)
		return
	}
	g.tally(l.reject[i], -1)
}

func (g *group) tally(v resources.Verdict, n int32) {
	for k := range g.rejects {
		if g.rejects[k].verdict == v {
			g.rejects[k].n += n
			return
		}
	}
	g.rejects = append(g.rejects, tally{v, n})
}

// move takes a slot whose node came, left or has another signature to its group, or out of its group.
func (l *layout) move(s *shape, i int32) {
	from, to := l.group[i], int32(-1)
	if s.engine.nodes[i] != nil {
		to = l.find(s, i)
	}
	if l.tree != nil {
		l.tree.moved = append(l.tree.moved, i)
	}
	l.touch(i)
	if from == to { // the event in the change log ranks the slot
		return
	}
	l.moves++
	if from >= 0 {
		l.leave(i)
		l.group[i] = -1
		g := &l.groups[from]
		if g.size--; g.member == i {
			g.member = int32(slices.Index(l.group, from))
		}
	}
	if l.group[i] = to; to >= 0 {
		l.groups[to].size++
		l.enter(i)
	}
}

// touch tells the spans that a node has changed.
func (l *layout) touch(i int32) {
	l.whole.touch(i)
	l.part.touch(i)
}

// refill fills the heaps again, after the scan order has changed.
func (l *layout) refill(e *Engine) {
	l.whole.forget()
	l.part.forget()
	for g := range l.groups {
		x := &l.groups[g]
		x.heap, x.rejects = x.heap[:0], x.rejects[:0]
	}
	for _, i := range e.order() {
		x := &l.groups[l.group[i]]
		if key := l.rows.keys[i]; fits(key) {
			if len(x.heap) == 0 {
				x.heap = slices.Grow(x.heap, int(x.size))
			}
			x.heap = append(x.heap, heapEntry{key, int32(i)})
			continue
		}
		l.where[i], l.reject[i] = -1, l.rows.reject[i]
		x.tally(l.reject[i], 1)
	}
	for g := range l.groups {
		l.groups[g].heap.order(l.where)
	}
}

// rank gives a slot its present place by rows.
func (l *layout) rank(i int32) {
	if l.rows == nil || l.group[i] < 0 {
		return
	}
	l.touch(i)
	key := l.rows.keys[i]
	if at := l.where[i]; at >= 0 && fits(key) {
		h := l.groups[l.group[i]].heap
		if h[at].key != key {
			h.set(int(at), key, l.where)
		}
		return
	}
	l.leave(i)
	l.enter(i)
}

// follow brings the layout to the version of the cluster; s is one of the shapes that share the layout. The rows must have
// followed before. The heaps are filled again when the log does not reach back that far.
func (l *layout) follow(e *Engine, s *shape) {
	for ; l.changes < len(e.changes); l.changes++ {
		l.move(s, e.changes[l.changes])
	}
	if s.shifts {
		s.shift(l.shifted, func(i int) { l.move(s, int32(i)) })
	}
	version := e.log.Version()
	if version == l.version {
		return
	}
	if l.rows != nil {
		blocks, known := e.since(l.version)
		if l.orders != e.orders || !known {
			l.orders = e.orders
			l.refill(e)
		} else {
			for _, events := range blocks {
				for i := range events {
					if slot := events[i].Node; slot >= 0 {
						l.rank(slot)
					}
				}
			}
		}
	}
	l.version = version
}
