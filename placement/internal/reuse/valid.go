package reuse

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/podberth/podberth/placement/internal/heap"
)

// check panics when an invariant does not hold. It checks one answer of so many.
func (e *Engine) check() {
	if e.answers++; e.answers%max(checking, 1) != 0 {
		return
	}
	if err := e.valid(); err != nil {
		panic(err)
	}
}

// valid checks the invariants of the package comment for everything that has caught up with the log, node by node. It returns the first
// fault. It costs O(nodes) for each thing that is kept, and asks plugins again. A build with the tag invariants calls it in Decide.
func (e *Engine) valid() error {
	c := &checker{engine: e, now: e.present}
	if e.log.Version() != c.now.version {
		return nil
	}
	c.want(len(e.nodes) == e.log.Len(), "I1", "%d slots of %d are followed", len(e.nodes), e.log.Len())
	for i, node := range e.nodes {
		c.want(node == e.log.Node(i), "I1", "slot %d has another node", i)
	}
	for key, x := range e.statics {
		if x.usable && !x.classes.dropped && x.cursor.changes == c.now.changes && string(e.staticKeys.append(nil, x.pod)) == key { // as below: a volume was taken
			c.statics(x)
		}
	}
	for _, x := range e.classes {
		if x.cursor.changes == c.now.changes {
			c.classes(x)
		}
	}
	for key, w := range e.rows {
		if w.cursor == c.now && !w.broken && string(e.rowKeys.append(nil, w.pod)) == key { // the pod may have another key by now: its image has come
			c.rows(w)
		}
	}
	for _, l := range e.layouts {
		if l.cursor == c.now {
			c.layout(l)
		}
	}
	kinds := slices.Collect(maps.Values(e.sharedKinds))
	for _, m := range e.kinds {
		if e.sharedKinds[m.sharedKey] != m.podKind {
			kinds = append(kinds, m.podKind)
		}
	}
	for _, s := range kinds {
		if s.usable && s.cursor == c.now && s.layout.cursor == c.now && len(s.recounted) == 0 {
			c.podKind(s)
		}
	}
	return c.err
}

// checker keeps the first fault that it finds.
type checker struct {
	engine *Engine
	now    cursor
	err    error
}

func (c *checker) want(ok bool, invariant, format string, args ...any) {
	if !ok && c.err == nil {
		c.err = fmt.Errorf("%s does not hold: %s", invariant, fmt.Sprintf(format, args...))
	}
}

// statics asks the plugins about every node again.
func (c *checker) statics(kept *statics) {
	again := *kept
	x := &again
	c.want(x.refresh(c.engine), "I2", "the plugins do not answer any more")
	for _, i := range c.engine.scan {
		class := x.classes.of[i]
		c.want(x.verdict[class] == x.first(i), "I2", "verdict about slot %d", i)
		c.want(slices.Equal(x.raw[class], x.score(make([]int64, len(x.scorers)), i)), "I2", "scores of slot %d", i)
	}
}

func (c *checker) classes(x *classes) {
	l, is := c.engine.log.(classifier)
	if !is {
		return
	}
	ids, _, ok := l.Classes(x.reads)
	c.want(ok, "I3", "the log has no classes any more")
	class := map[int32]int32{}
	for i, node := range c.engine.nodes {
		if node == nil {
			c.want(x.of[i] == -1, "I3", "free slot %d has a class", i)
			continue
		}
		known, met := class[ids[i]]
		c.want(!met || known == x.of[i], "I3", "class of slot %d", i)
		class[ids[i]] = x.of[i]
		rep := x.reps[x.of[i]]
		c.want(rep >= 0 && x.of[rep] == x.of[i], "I3", "a slot of class %d", x.of[i])
	}
	for k, rep := range x.reps {
		c.want(rep >= 0 || !slices.Contains(x.of, int32(k)), "I3", "class %d has nodes", k)
	}
}

// rows asks the plugins about every row again.
func (c *checker) rows(w *rows) {
	a, ok := c.engine.rowPluginsOf(w.pod)
	c.want(ok, "I4", "the plugins do not answer any more")
	for i, rank := range c.engine.ranks() {
		if c.engine.log.Node(i) == nil {
			continue
		}
		key, reject, ok := a.key(i, rank)
		c.want(ok && key == w.keys[i], "I4", "key of slot %d", i)
		c.want(heap.Fits(key) || reject == w.reject[i], "I4", "verdict about slot %d", i)
	}
}

// layout checks the boxes and the spans of a layout, and which nodes its groups name. podKind checks the groups.
func (c *checker) layout(l *layout) {
	for g := range l.list {
		x := &l.list[g]
		c.want(x.base == int32(g), "I5", "group %d has base %d", g, x.base)
		c.want(x.size == 0 || l.of[x.member] == int32(g), "I5", "a member of group %d", g)
	}
	if l.tree != nil && l.tree.cursor == c.now && len(l.tree.regrouped) == 0 {
		err := l.tree.Valid(l.of)
		c.want(err == nil, "I8", "%v", err)
	}
	if l.rows == nil || l.rows.cursor != c.now || l.rows.broken {
		return
	}
	for _, x := range []*spans{&l.whole, &l.part} {
		for k := range x.list {
			var again span
			if again.read(x.slots(k), l); x.list[k].known {
				c.want(slices.Equal(again.groups, x.list[k].groups), "I7", "span %d", k)
			}
		}
	}
}

// podKind divides the nodes and the exceptions of a kind again.
func (c *checker) podKind(s *podKind) {
	l, x := s.layout, &s.exceptions
	if s.shifts && !s.upToDate() {
		return
	}
	nodes, again := c.engine.newLayout(s, nil), *s
	again.exceptions = exceptions{}
	again.exceptions.build(&again)
	c.same("I5", "I6", &l.groups, &nodes.groups)
	c.want(slices.Equal(l.reject, nodes.reject), "I6", "verdicts about slots are not those of the rows")
	c.same("I9", "I9", &x.groups, &again.exceptions.groups)
	for _, i := range c.engine.scan {
		base := l.of[i]
		c.want(s.static.verdict[s.static.classes.of[i]] == s.static.verdict[l.list[base].class], "I9", "slot %d is in a group of another verdict", i)
		c.want(!x.has(int32(i)) || x.list[x.of[i]].base == base, "I9", "exception %d has another base", i)
	}
	for g := range l.list {
		c.want(x.within(g) == again.exceptions.within(g), "I9", "%d exceptions in group %d", x.within(g), g)
	}
	c.states(s)
}

// same checks that groups divide the slots as groups do that were made again, whatever the numbers of the groups, with the same heaps and counts.
// An empty group may be one that is not made again.
func (c *checker) same(divides, counts string, x, again *groups) {
	if c.want(len(x.of) == len(again.of) && len(x.at) == len(again.at), divides, "%d slots and %d in heaps, not %d and %d", len(x.of), len(x.at), len(again.of), len(again.at)); c.err != nil {
		return
	}
	to, from := make([]int32, len(x.list)), map[int32]int32{}
	for g := range to {
		to[g] = -1
	}
	inHeap := func(x *groups, i int) bool { return len(x.at) > 0 && x.at[i] >= 0 }
	for i, g := range x.of {
		now := again.of[i]
		c.want(inHeap(x, i) == inHeap(again, i), counts, "slot %d is in a heap: %t", i, inHeap(x, i))
		if g < 0 || now < 0 {
			c.want(g < 0 && now < 0, divides, "slot %d is in group %d, not in %d", i, g, now)
			continue
		}
		known, met := from[now]
		c.want((to[g] == now || to[g] < 0) && (known == g || !met), divides, "slot %d is in group %d with nodes of other signatures, or without its own", i, g)
		to[g], from[now] = now, g
	}
	entries := func(h heap.Heap) []heap.Entry {
		return slices.SortedFunc(slices.Values(h), func(a, b heap.Entry) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Slot, b.Slot)) })
	}
	for g := range x.list {
		var now group
		if to[g] >= 0 {
			now = again.list[to[g]]
		}
		g := &x.list[g]
		c.want(g.size == now.size, divides, "a group of %d nodes counts %d", now.size, g.size)
		if len(x.at) == 0 { // counts are those of the last scan
			continue
		}
		err := g.heap.Valid(x.at)
		c.want(err == nil || g.asleep, counts, "%v", err)
		c.want(slices.Equal(entries(g.heap), entries(now.heap)), counts, "heap %v, not %v", g.heap, now.heap)
		if tied := make([]uint64, len(g.tied)); len(tied) > 0 && !g.asleep {
			g.heap.Flip(g.level, tied)
			c.want(slices.Equal(g.tied, tied), counts, "nodes with score %d", g.level)
		}
		left := now
		left.rejects = slices.Clone(now.rejects)
		for _, t := range g.rejects {
			left.tally(t.verdict, -t.n)
		}
		c.want(!slices.ContainsFunc(left.rejects, func(t tally) bool { return t.n != 0 }), counts, "verdicts %v, not %v", g.rejects, now.rejects)
	}
}
