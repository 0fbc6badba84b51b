package reuse

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/placement/internal/heap"
	"github.com/podberth/podberth/resources"
)

// audit checks everything that the engine keeps and that has followed the log against the nodes, one by one.
func audit(t *testing.T, g *game, at string) {
	e := g.engine
	version, changes := e.log.Version(), len(e.changes)
	if e.cursor.version != version {
		return
	}
	for _, w := range e.rows {
		if w.cursor.version == version && !w.broken {
			auditRows(t, e, w, at)
		}
	}
	for _, x := range e.statics {
		if x.usable && x.cursor.changes == changes {
			auditStatics(t, e, x, at)
		}
	}
	for _, p := range e.partitions {
		if p.known && p.cursor.changes == changes {
			auditPartition(t, e, p, at)
		}
	}
	for _, l := range e.layouts {
		if l.cursor.version == version && l.cursor.changes == changes {
			auditLayout(t, e, l, at)
		}
	}
	for _, list := range []map[string]*shape{e.shapes, e.parts} {
		for _, s := range list {
			if s.usable && s.cursor.version == version && s.layout.cursor.version == version && s.cursor.changes == changes && len(s.moved) == 0 {
				auditShape(t, g, s, at)
			}
		}
	}
}

// auditRows asks the plugins about every row again.
func auditRows(t *testing.T, e *Engine, w *rows, at string) {
	if w.cursor.orders != e.orders {
		return
	}
	a, ok := e.askerOf(w.pod)
	equal(t, true, ok, at)
	for i, rank := range e.ranks() {
		if e.log.Node(i) == nil {
			continue
		}
		key, reject, ok := a.key(i, rank)
		equal(t, true, ok, at)
		equal(t, key, w.keys[i], "%s: key of slot %d", at, i)
		if !heap.Fits(key) {
			equal(t, reject, w.reject[i], "%s: verdict about slot %d", at, i)
		}
	}
}

func auditStatics(t *testing.T, e *Engine, x *statics, at string) {
	for _, i := range e.order() {
		class := x.class[i]
		equal(t, x.first(i), x.verdict[class], "%s: verdict about slot %d", at, i)
		require.Equal(t, x.raws(i), x.raw[class], "%s: scores of slot %d", at, i)
	}
}

func auditPartition(t *testing.T, e *Engine, p *partition, at string) {
	l, is := e.log.(classes)
	if !is {
		return
	}
	ids, _, ok := l.Classes(p.reads)
	equal(t, true, ok, at)
	class := map[int32]int32{}
	for i := range e.log.Len() {
		if e.log.Node(i) == nil {
			equal(t, int32(-1), p.class[i], at)
			continue
		}
		if c, known := class[ids[i]]; known {
			equal(t, c, p.class[i], "%s: class of slot %d", at, i)
		}
		class[ids[i]] = p.class[i]
		rep := p.reps[p.class[i]]
		equal(t, true, rep >= 0, at)
		equal(t, p.class[i], p.class[rep], "%s: slot of class %d", at, p.class[i])
	}
	for c, rep := range p.reps {
		if rep < 0 {
			require.NotContains(t, p.class, int32(c), "%s: class without nodes", at)
		}
	}
}

// auditLayout checks the groups, their heaps and their counts.
func auditLayout(t *testing.T, e *Engine, l *layout, at string) {
	equal(t, e.log.Len(), len(l.of), at)
	size := make([]int32, len(l.list))
	for i, g := range l.of {
		equal(t, e.log.Node(i) == nil, g < 0, "%s: slot %d has group %d", at, i, g)
		if g >= 0 {
			size[g]++
		} else {
			equal(t, -1, g, at)
		}
	}
	for g := range l.list {
		equal(t, size[g], l.list[g].size, "%s: group %d", at, g)
		if size[g] > 0 {
			equal(t, int32(g), l.of[l.list[g].member], "%s: a member of group %d", at, g)
		}
	}
	if l.tree != nil && l.tree.cursor.version == l.cursor.version && l.tree.cursor.orders == e.orders && len(l.tree.moved) == 0 {
		require.NoError(t, l.tree.Valid(l.of), at)
	}
	if l.rows == nil || l.rows.cursor != l.cursor || l.cursor.orders != e.orders || l.rows.broken {
		return
	}
	rejects := make([]map[resources.Verdict]int32, len(l.list))
	for i, g := range l.of {
		switch key := l.rows.keys[i]; {
		case g < 0:
			equal(t, int32(-1), l.at[i], at)
		case heap.Fits(key):
			equal(t, heap.Entry{Key: key, Slot: int32(i)}, l.list[g].heap[l.at[i]], "%s: slot %d", at, i)
			size[g]--
		default:
			equal(t, int32(-1), l.at[i], at)
			equal(t, l.rows.reject[i], l.reject[i], at)
			if rejects[g] == nil {
				rejects[g] = map[resources.Verdict]int32{}
			}
			rejects[g][l.reject[i]]++
			size[g]--
		}
	}
	checkSpans(t, l, &l.whole)
	checkSpans(t, l, &l.part)
	for g := range l.list {
		equal(t, 0, size[g], at)
		require.NoError(t, l.list[g].heap.Valid(l.at), at)
		for _, x := range l.list[g].rejects {
			equal(t, rejects[g][x.verdict], x.n, "%s: verdict %d in group %d", at, x.verdict, g)
			delete(rejects[g], x.verdict)
		}
		require.Empty(t, rejects[g], at)
	}
}

// checkSpans reads the spans that are known again.
func checkSpans(t *testing.T, l *layout, x *spans) {
	for k := range x.list {
		if x.list[k].known {
			var again span
			again.read(x.slots(k), l)
			require.ElementsMatch(t, again.groups, x.list[k].groups, "span %d", k)
		}
	}
}

// auditShape checks which groups slots are in: by what static plugins answer, by the domains of the states, and for the exceptions by
// the counts.
func auditShape(t *testing.T, g *game, s *shape, at string) {
	e, l, x := s.engine, s.layout, &s.exceptions
	if l.cursor.changes != len(e.changes) || s.shifts && !upToDate(s) {
		return
	}
	sizes, group := map[int32]int32{}, map[string]int32{}
	inBase := make([]int32, len(l.list))
	for _, i := range e.order() {
		var sign []int32
		for k := range s.counted {
			sign = s.counted[k].state.AppendDomains(sign, i)
		}
		base := l.of[i]
		equal(t, s.static.verdict[s.static.class[i]], s.static.verdict[l.list[base].class], "%s: slot %d", at, i)
		key := fmt.Sprint(s.static.class[i], sign)
		if known, ok := group[key]; ok {
			equal(t, known, base, "%s: group of slot %d", at, i)
		}
		group[key] = base
		counted := false
		for k := range s.counted {
			var some bool
			sign, some = s.counted[k].state.AppendCounts(sign, i)
			counted = counted || some
		}
		if !x.some() {
			equal(t, false, counted, at)
			continue
		}
		equal(t, counted, x.of[i] >= 0, "%s: slot %d is an exception", at, i)
		if !counted {
			equal(t, int32(-1), x.at[i], at)
			continue
		}
		except := &x.list[x.of[i]]
		sizes[x.of[i]]++
		equal(t, base, except.base, at)
		key = fmt.Sprint("exception ", base, sign)
		if known, ok := group[key]; ok {
			equal(t, known, -1-x.of[i], "%s: group of exception %d", at, i)
		}
		group[key] = -1 - x.of[i]
		if l.rows != nil && !heap.Fits(l.rows.keys[i]) {
			equal(t, int32(-1), x.at[i], at)
			continue
		}
		entry := heap.Entry{Key: 0, Slot: int32(i)}
		if l.rows != nil {
			entry.Key = l.rows.keys[i]
		}
		equal(t, entry, except.heap[x.at[i]], at)
		inBase[base]++
	}
	require.Len(t, slices.Compact(slices.Sorted(maps.Values(group))), len(group), "%s: slots of different signatures are in different groups", at)
	for k := range x.list {
		equal(t, sizes[int32(k)], x.list[k].size, "%s: exceptions %d", at, k)
		require.NoError(t, x.list[k].heap.Valid(x.at), at)
	}
	for k, n := range inBase {
		if k < len(x.inBase) {
			equal(t, n, x.inBase[k], "%s: exceptions in group %d", at, k)
		} else {
			equal(t, 0, n, at)
		}
	}
	auditCounts(t, s, at)
}

// upToDate reports whether the layout and the exceptions have followed the objects beside the nodes.
func upToDate(s *shape) bool {
	now := make([]uint64, len(s.counted))
	s.shift(now, nil)
	return slices.Equal(now, s.layout.shifted) && (!s.exceptions.some() || slices.Equal(now, s.shifted))
}

// auditCounts counts the pods of the states again.
func auditCounts(t *testing.T, s *shape, at string) {
	for k := range s.counted {
		x := &s.counted[k]
		equal(t, x.keys, x.state.Keys(), at)
		if _, terms := x.state.(*guardState); terms && s.shared {
			continue // the state leaves out the terms that match the first pod alone
		}
		again := x.compiled.Count()
		if p, q := x.state.Filter(), again.Filter(); p != nil {
			for _, i := range s.engine.order() {
				equal(t, q.Check(i), p.Check(i), "%s: state %d, slot %d", at, k, i)
			}
		}
	}
}

// equal is require.Equal without its cost where numbers are equal.
func equal[T comparable](t *testing.T, want, got T, at ...any) {
	if want != got {
		require.Equal(t, want, got, at...)
	}
}
