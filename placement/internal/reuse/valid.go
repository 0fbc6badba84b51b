package reuse

import (
	"fmt"
	"maps"
	"slices"

	"github.com/podberth/podberth/placement/internal/heap"
	"github.com/podberth/podberth/resources"
)

// valid checks the invariants of the package comment for everything that has caught up with the log, node by node. It returns the first
// fault. It costs O(nodes) for each thing that is kept, and asks plugins again. A build with the tag invariants calls it in Decide.
func (e *Engine) valid() error {
	c := &checker{engine: e, now: e.now()}
	if e.cursor.version != c.now.version {
		return nil
	}
	c.want(len(e.nodes) == e.log.Len(), "I1", "%d slots of %d are followed", len(e.nodes), e.log.Len())
	for i, node := range e.nodes {
		c.want(node == e.log.Node(i), "I1", "slot %d has another node", i)
	}
	for _, x := range e.statics {
		if x.usable && !x.classes.dropped && x.cursor.changes == c.now.changes {
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
	for _, list := range []map[string]*podKind{e.kinds, e.sharedKinds} {
		for _, s := range list {
			if s.usable && s.cursor == c.now && s.layout.cursor == c.now && len(s.recounted) == 0 {
				c.podKind(s)
			}
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
func (c *checker) statics(x *statics) {
	for _, i := range c.engine.scan {
		class := x.classes.of[i]
		c.want(x.verdict[class] == x.first(i), "I2", "verdict about slot %d", i)
		c.want(slices.Equal(x.raw[class], x.raws(i)), "I2", "scores of slot %d", i)
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

// layout checks the groups, their heaps and their counts.
func (c *checker) layout(l *layout) {
	c.want(len(l.of) == c.engine.log.Len(), "I5", "%d slots", len(l.of))
	c.sizes(&l.groups, "I5")
	for i, g := range l.of {
		c.want((g < 0) == (c.engine.log.Node(i) == nil), "I5", "slot %d has group %d", i, g)
	}
	for g := range l.list {
		x := &l.list[g]
		c.want(x.base == int32(g), "I5", "group %d has base %d", g, x.base)
		c.want(x.size == 0 || l.of[x.member] == int32(g), "I5", "a member of group %d", g)
	}
	if l.tree != nil && l.tree.cursor == c.now && len(l.tree.regrouped) == 0 {
		if err := l.tree.Valid(l.of); err != nil {
			c.want(false, "I8", "%v", err)
		}
	}
	if l.rows == nil || l.rows.cursor != c.now || l.rows.broken {
		return
	}
	rejects := make([]map[resources.Verdict]int32, len(l.list))
	for i, g := range l.of {
		if g < 0 {
			continue
		}
		key := l.rows.keys[i]
		c.ranked(&l.groups, int32(i), key, "I6")
		want := resources.Verdict(0)
		if !heap.Fits(key) {
			if want = l.rows.reject[i]; rejects[g] == nil {
				rejects[g] = map[resources.Verdict]int32{}
			}
			rejects[g][want]++
		}
		c.want(l.reject[i] == want, "I6", "the rows of slot %d reject it with %d", i, l.reject[i])
	}
	for g := range l.list {
		for _, x := range l.list[g].rejects {
			c.want(rejects[g][x.verdict] == x.n, "I6", "%d nodes with verdict %d in group %d", x.n, x.verdict, g)
			delete(rejects[g], x.verdict)
		}
		c.want(len(rejects[g]) == 0, "I6", "verdicts of group %d are not counted", g)
	}
	c.spans(l, &l.whole)
	c.spans(l, &l.part)
}

// sizes counts the slots of each group.
func (c *checker) sizes(x *groups, invariant string) {
	size := make([]int32, len(x.list))
	for i, g := range x.of {
		if g >= 0 {
			size[g]++
		} else {
			c.want(len(x.at) == 0 || x.at[i] == -1, invariant, "slot %d has no group and is in a heap", i)
		}
	}
	for g := range x.list {
		c.want(size[g] == x.list[g].size, invariant, "group %d of %d nodes counts %d", g, size[g], x.list[g].size)
		if len(x.at) > 0 {
			if err := x.list[g].heap.Valid(x.at); err != nil {
				c.want(false, invariant, "group %d: %v", g, err)
			}
		}
	}
}

// ranked checks that a slot is in the heap of its group with its key, if the key fits.
func (c *checker) ranked(x *groups, i int32, key int64, invariant string) {
	if !heap.Fits(key) {
		c.want(x.at[i] == -1, invariant, "slot %d is in a heap", i)
		return
	}
	h, at := x.list[x.of[i]].heap, x.at[i]
	c.want(at >= 0 && int(at) < len(h) && h[at] == heap.Entry{Key: key, Slot: i}, invariant, "slot %d is not in its heap", i)
}

// spans reads the spans that are known again.
func (c *checker) spans(l *layout, x *spans) {
	for k := range x.list {
		if !x.list[k].known {
			continue
		}
		var again span
		again.read(x.slots(k), l)
		left := len(again.groups)
		for _, g := range x.list[k].groups {
			if slices.Contains(again.groups, g) {
				left--
			}
		}
		c.want(left == 0 && len(again.groups) == len(x.list[k].groups), "I7", "span %d", k)
	}
}

// podKind checks which groups slots are in: by what static plugins answer, by the domains of the states, and for the exceptions by
// the counts.
func (c *checker) podKind(s *podKind) {
	l, x := s.layout, &s.exceptions
	if s.shifts && !s.upToDate() {
		return
	}
	group := map[string]int32{}
	in := func(sign string, g int32, what string, i int) {
		known, met := group[sign]
		c.want(!met || known == g, "I9", "%s of slot %d", what, i)
		group[sign] = g
	}
	within := make([]int32, len(l.list))
	for _, i := range c.engine.scan {
		var sign []int32
		for k := range s.counted {
			sign = s.counted[k].state.AppendDomains(sign, i)
		}
		base := l.of[i]
		c.want(s.static.verdict[s.static.classes.of[i]] == s.static.verdict[l.list[base].class], "I9", "slot %d is in a group of another verdict", i)
		in(fmt.Sprint(s.static.classes.of[i], sign), base, "group", i)
		counted := false
		for k := range s.counted {
			var some bool
			sign, some = s.counted[k].state.AppendCounts(sign, i)
			counted = counted || some
		}
		c.want(counted == x.has(int32(i)), "I9", "slot %d is an exception: %t", i, !counted)
		if !counted || c.err != nil {
			continue
		}
		g := x.of[i]
		c.want(x.list[g].base == base, "I9", "exception %d has another base", i)
		in(fmt.Sprint("exception ", base, sign), -1-g, "group of exceptions", i)
		key := int64(0)
		if l.rows != nil {
			key = l.rows.keys[i]
		}
		if c.ranked(&x.groups, int32(i), key, "I9"); heap.Fits(key) {
			within[base]++
		}
	}
	c.want(len(slices.Compact(slices.Sorted(maps.Values(group)))) == len(group), "I9", "slots of different signatures are in one group")
	c.sizes(&x.groups, "I9")
	for g, n := range within {
		c.want(!x.some() || x.within(g) == n, "I9", "%d exceptions in group %d, not %d", n, g, x.within(g))
	}
	c.states(s)
}

// upToDate reports whether the layout and the exceptions have followed the objects beside the nodes.
func (s *podKind) upToDate() bool {
	now := make([]uint64, len(s.counted))
	s.shift(now, nil)
	return slices.Equal(now, s.layout.shifted) && (!s.exceptions.some() || slices.Equal(now, s.shifted))
}

// states counts the pods of the states again.
func (c *checker) states(s *podKind) {
	for k := range s.counted {
		x := &s.counted[k]
		c.want(x.keys == x.state.Keys(), "I10", "state %d has more keys", k)
		if s.shared && c.unmatched(x) {
			continue
		}
		again := x.compiled.Count()
		if p, q := x.state.Filter(), again.Filter(); p != nil {
			for _, i := range c.engine.scan {
				c.want(p.Check(i) == q.Check(i), "I10", "verdict of state %d about slot %d", k, i)
			}
		}
	}
}

// unmatched reports whether a term set does something to a state that a shared kind leaves out: the terms match one of the pods alone.
func (c *checker) unmatched(x *counted) bool {
	for id := range int32(c.engine.log.TermSets()) {
		if rep, _, _ := c.engine.log.TermSet(id); rep != nil && !x.compiled.Matched(id) && x.state.OfTerms(id, rep) != nil {
			return true
		}
	}
	return false
}
