package reuse

import (
	"slices"

	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/placement/internal/heap"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/resources"
)

// layout divides the nodes into groups of equal signature. The nodes of a group differ only in their rows. Everything else is
// asked once for each group: verdicts that change for a whole domain, and scores that are normalized over all feasible nodes.
//
// Kinds share a layout when they have the same requests, tolerate and select the same nodes, and count by the same topology keys: a signature holds
// no counts. Where the count of a single node matters, because no two nodes share the topology key, the node is an exception of the kind.
type layout struct {
	cursor  cursor
	plugins []int    // that the states are of
	shifted []uint64 // by state: the version that Shifted returned
	shifts  bool     // a state is Shifting
	storage bool     // storage objects matter to the pods
	rows    *rows    // nil: the groups have no heaps
	classes *classes
	own     bool // for pods that tolerate and select the same, not for all with these classes

	groups
	reject []resources.Verdict // by slot: how its rows reject it, as counted in its group; 0: they do not, or it is in no group

	regroupings int   // of slots to other groups
	scans       int   // by kinds without heaps
	tree        *tree // for these

	whole, part spans // of all nodes, and of the nodes that were asked about alone
}

// divideNodes gives the kind its layout, which it makes when there is none, and its exceptions. Pods that tolerate and select other nodes share
// a layout when the plugins read the same of the nodes.
func (e *Engine) divideNodes(s *podKind) {
	own := s.static.classes.name == "" || slices.ContainsFunc(s.counted, func(c counted) bool {
		_, everywhere := c.compiled.(hooks.Everywhere)
		return !everywhere
	})
	const (
		withRows = 1 << iota // keys of rows follow at the end
		byReads              // the name of the classes, in place of the keys of statics
	)
	b := append(e.buffers.key[:0], 0)
	if own {
		b = e.staticKeys.append(b, s.pod)
	} else {
		b[0] = byReads
		b = key.Text(b, s.static.classes.name)
	}
	b = key.Len(b, len(s.counted))
	for k := range s.counted {
		b = key.Len(b, s.counted[k].plugin)
		at := len(b)
		b = key.Close(s.counted[k].state.AppendLayoutKey(key.Open(b)), at)
	}
	n := len(b)
	if s.rows != nil {
		b[0] |= withRows
		b = e.rowKeys.append(b, s.pod)
	}
	e.buffers.key = b
	l, ok := e.layouts[string(b)]
	if !ok {
		name := string(b)
		var bare *layout
		if s.rows != nil {
			b[0] &^= withRows
			bare = e.layouts[string(b[:n])]
		}
		l = e.newLayout(s, bare)
		l.own = own
		e.layouts[name] = l
	}
	s.layout = l
	l.follow(e, s)
	s.exceptions.build(s)
}

// newLayout makes a layout. bare has the same groups without heaps; nil: there is no such layout.
func (e *Engine) newLayout(s *podKind, bare *layout) *layout {
	l := &layout{
		cursor: e.present, storage: s.static.storage, rows: s.rows, classes: s.static.classes, shifts: s.shifts,
	}
	for k := range s.counted {
		l.plugins = append(l.plugins, s.counted[k].plugin)
	}
	if bare != nil {
		bare.follow(e, s)
		l.of, l.list, l.signatures = slices.Clone(bare.of), slices.Clone(bare.list), bare.signatures.Clone()
		for g := range l.list {
			x := &l.list[g]
			*x = group{base: x.base, size: x.size, class: x.class, member: x.member}
		}
	} else {
		l.of = none(nil, e.log.Len())
		known := make([]int32, len(s.static.verdict)) // by class: a group, and 1 more
		divided := false                              // states divide the nodes of a class
		for _, i := range e.scan {
			class := s.static.classes.of[i]
			g := known[class] - 1
			if g < 0 || divided {
				g = l.find(s, int32(i))
				known[class], divided = g+1, len(l.signatures.Next) > 1
			}
			l.place(int32(i), g)
		}
	}
	l.shifted = make([]uint64, len(s.counted))
	s.shift(l.shifted, nil)
	if l.rows != nil {
		l.at, l.reject = none(nil, len(l.of)), make([]resources.Verdict, len(l.of))
		l.refill(e)
	}
	return l
}

func (l *layout) find(s *podKind, i int32) int32 {
	x := &l.signatures
	x.Next = append(x.Next[:0], s.static.classes.of[i])
	for k := range s.counted {
		x.Next = s.counted[k].state.AppendDomains(x.Next, int(i))
	}
	g := l.groups.find(-1, s.static.classes.of[i])
	l.list[g].member = i
	return g
}

// regroup takes a slot whose node came, left or has another signature to its group, or out of its group.
func (l *layout) regroup(s *podKind, i int32) {
	from, to := l.of[i], int32(-1)
	if s.engine.nodes[i] != nil {
		to = l.find(s, i)
	}
	if l.tree != nil {
		l.tree.regrouped = append(l.tree.regrouped, i)
	}
	l.touch(i)
	if from == to { // the event in the change log ranks the slot
		return
	}
	l.regroupings++
	if from >= 0 {
		l.leave(i)
	}
	if to >= 0 {
		l.place(i, to)
		l.rank(i)
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
	for g := range l.list {
		x := &l.list[g]
		x.heap, x.rejects, x.tied = x.heap[:0], x.rejects[:0], x.tied[:0]
	}
	for _, i := range e.scan {
		x := &l.list[l.of[i]]
		if key := l.rows.keys[i]; heap.Fits(key) {
			if cap(x.heap) < int(x.size) {
				x.heap = append(make(heap.Heap, 0, x.size), x.heap...)
			}
			x.heap, l.reject[i] = append(x.heap, heap.Entry{Key: key, Slot: int32(i)}), 0
			continue
		}
		l.at[i], l.reject[i] = -1, l.rows.reject[i]
		x.tally(l.reject[i], 1)
	}
	for g := range l.list {
		l.list[g].heap.Order(l.at)
	}
}

// leave takes a slot out of its group.
func (l *layout) leave(i int32) {
	from := l.of[i]
	g := &l.list[from]
	l.counts(g, i, 0)
	l.groups.leave(i)
	if g.member == i {
		g.member = int32(slices.Index(l.of, from))
	}
}

// rank gives a slot its present place by rows: in the heap of its group, or among the nodes that their rows reject.
func (l *layout) rank(i int32) {
	if l.rows == nil || l.of[i] < 0 {
		return
	}
	l.touch(i)
	key, reject := l.rows.keys[i], resources.Verdict(0)
	if l.groups.rank(i, key); !heap.Fits(key) {
		reject = l.rows.reject[i]
	}
	l.counts(&l.list[l.of[i]], i, reject)
}

// counts counts how the rows of a slot reject it; 0: they do not, or the slot leaves.
func (l *layout) counts(g *group, i int32, reject resources.Verdict) {
	if l.rows == nil || l.reject[i] == reject {
		return
	}
	if l.reject[i] != 0 {
		g.tally(l.reject[i], -1)
	}
	if l.reject[i] = reject; reject != 0 {
		g.tally(reject, 1)
	}
}

// follow brings the layout to the version of the cluster; s is one of the kinds that share the layout. The rows must have
// followed before. The heaps are filled again when the log does not reach back that far.
func (l *layout) follow(e *Engine, s *podKind) {
	n := e.catchUp(&l.cursor)
	for _, i := range n.nodes() {
		l.regroup(s, i)
	}
	if s.shifts {
		s.shift(l.shifted, func(i int) { l.regroup(s, int32(i)) })
	}
	if l.rows == nil || n.none() {
		return
	}
	events, known := n.events()
	if n.reordered() || !known {
		l.refill(e)
		return
	}
	for i := range events {
		if slot := events[i].Node; slot >= 0 {
			l.rank(slot)
		}
	}
}
