package reuse

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/placement/internal/heap"
	"github.com/podberth/podberth/resources"
)

// watched is a log that counts what the engine reads, and that may have dropped its old events.
type watched struct {
	*cluster.Snapshot
	c     calls
	first uint64 // version before the first event that is kept
}

func (w *watched) Since(version uint64, yield func([]cluster.Event)) bool {
	w.c["log since"]++
	return version >= w.first && w.Snapshot.Since(version, func(events []cluster.Event) {
		w.c["log events"] += len(events)
		yield(events)
	})
}

func (w *watched) Node(i int) *v1.Node {
	w.c["log node"]++
	return w.Snapshot.Node(i)
}

func (w *watched) Allocatable(i int) resources.Vector {
	w.c["log allocatable"]++
	return w.Snapshot.Allocatable(i)
}

func (w *watched) PodSet(id int32) (*v1.Pod, []int32, []int32) {
	w.c["log pod set"]++
	return w.Snapshot.PodSet(id)
}

func (w *watched) Classes(reads []string) (ids, reps []int32, ok bool) {
	w.c["log classes"]++
	return w.Snapshot.Classes(reads)
}

// bare hides the optional methods of a log.
type bare struct{ Log }

// game is a field with an engine and pods.
type game struct {
	*field
	log     *watched
	engine  *Engine
	kinds   []*v1.Pod
	running []*v1.Pod
	quiet   bool // nodes stay, and many pods ask for what no pod asked for before
	failed  map[VerdictKey][]verdictAt
	total   calls
	part    []int   // nodes that are asked about alone
	whole   []int32 // the scan order of these
}

// verdictAt is what a pod without a node was told about a node.
type verdictAt struct{ node, verdict string }

func newGame(t *testing.T, r *rand.Rand, total calls) *game {
	g := &game{field: newField(r), failed: map[VerdictKey][]verdictAt{}, total: total}
	var o cluster.Objects
	g.quiet = g.one(3)
	nodes := 3 + g.r.IntN(20)
	if g.quiet && g.one(4) {
		nodes += 60 // boxes are divided
	}
	for range nodes {
		o.Nodes = append(o.Nodes, g.node())
	}
	var err error
	g.s, err = cluster.New(o)
	require.NoError(t, err)
	g.draw()
	g.log = &watched{Snapshot: g.s, c: g.c}
	var log Log = g.log
	if g.one(8) {
		log = bare{log}
	}
	g.engine = New(log, g.plugins)
	require.NotNil(t, g.engine)
	g.engine.span = 1 + g.r.IntN(3)
	for range 2 + g.r.IntN(5) {
		g.kinds = append(g.kinds, g.pod())
	}
	return g
}

func (g *game) any() int { return int(g.order()[g.r.IntN(len(g.order()))]) }

// change changes the cluster or what plugins read beside the cluster.
func (g *game) change(t *testing.T) {
	change := g.r.IntN(24)
	if g.quiet {
		change = max(change, 3)
	}
	switch change {
	case 0:
		require.NoError(t, g.s.Set(g.node()))
	case 1:
		if len(g.order()) > 2 {
			require.NoError(t, g.s.Remove(g.s.Node(g.any())))
			g.running = nil
		}
	case 2:
		n := g.s.Node(g.any()).DeepCopy()
		n.Labels[g.pick("pool", "grade", "rack", "other")] = g.pick("x", "y", "40", "200")
		require.NoError(t, g.s.Set(n))
	case 3, 4, 5:
		if n := len(g.running); n > 0 {
			require.NoError(t, g.s.Remove(g.running[n-1]))
			g.running = g.running[:n-1]
		}
	case 6, 7:
		i := g.any()
		g.shelf[g.s.Node(i).Name], g.shifts = g.r.IntN(4), append(g.shifts, i)
	case 8:
		g.books[g.pick("one", "two", "three")] = g.pick("1", "2", "partial-1", "", "fail")
	case 9:
		if g.one(4) {
			g.tide++
			g.shifts = append(g.shifts, g.slots()...)
		}
	case 10:
		if g.one(2) {
			g.stored = g.pick("x", "y", "")
			require.NoError(t, g.s.Set(&v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv", ResourceVersion: fmt.Sprint(g.s.Version())}}))
		}
	case 11:
		switch g.r.IntN(6) {
		case 0:
			require.NoError(t, g.s.Set(&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}}))
		case 1:
			require.NoError(t, g.s.Set(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "new", Labels: map[string]string{"a": fmt.Sprint(g.next)}}}))
		case 2:
			g.log.first = g.s.Version() // the log drops what it has
		case 3: // a node leaves and comes back
			mark := g.s.Mark()
			require.NoError(t, g.s.Remove(g.s.Node(g.any())))
			require.True(t, g.s.Rollback(mark))
		case 4: // a pod gets a newer object
			if n := len(g.running); n > 0 {
				p := g.running[n-1].DeepCopy()
				p.ResourceVersion += "1"
				require.NoError(t, g.s.Set(p))
				g.running[n-1] = p
			}
		}
	}
}

// question draws what is asked.
func (g *game) question() Question {
	p := g.pod()
	if !g.one(4) {
		g.next++
		p = g.kinds[g.r.IntN(len(g.kinds))].DeepCopy()
		p.Name = fmt.Sprint("p", g.next)
		p.UID = ""
		if g.quiet && !g.one(3) {
			p.Spec.Containers[0].Resources.Requests = testkit.Resources(fmt.Sprintf("cpu=%dm", 100*(1+g.r.IntN(40))))
			if g.one(16) {
				p.Labels["sizes"] = g.pick("error-one", "error-full", "partial-full")
			}
		}
	}
	q := Question{Pod: p, Order: g.order()}
	if g.quiet && !g.one(4) {
		return q
	}
	if g.one(3) {
		q.From = g.r.IntN(2 * len(g.order()))
	}
	if g.one(3) {
		q.Limit = 1 + g.r.IntN(4)
	}
	if g.one(3) {
		k := g.r.IntN(6) - 1
		q.Tie = func(n int) int { return k }
	}
	if g.one(3) {
		q.Slots = g.some()
	}
	if g.one(4) { // of the nodes with room some are not feasible
		q.Without = nil
		before := maps.Clone(g.c)
		_, room, _ := g.plain(&Question{Pod: p})
		g.c.restore(before)
		for _, i := range room {
			if g.one(3) {
				q.Without.Add(i)
			}
		}
	}
	return q
}

// some returns nodes in scan order, often the same ones.
func (g *game) some() []int {
	order := g.order()
	if g.whole == nil || !view.SameList(order, g.whole) || g.one(4) {
		g.whole, g.part = order, nil
		for k, i := range order {
			if !g.one(4) || len(g.part) == 0 && k == len(order)-1 {
				g.part = append(g.part, int(i))
			}
		}
	}
	return g.part
}

// restore takes back the calls since before.
func (c calls) restore(before calls) {
	clear(c)
	maps.Copy(c, before)
}

// step changes something and asks one question.
func (g *game) step(t *testing.T, at string) {
	g.change(t)
	q := g.question()
	before := maps.Clone(g.c)
	want, _, fails := g.plain(&q)
	g.c.restore(before) // the slow pass does not count
	scramble(&g.engine.buffers)
	got, ok := ask(g.engine, &q)
	before = maps.Clone(g.c)
	g.total["decisions"]++
	if !ok {
		g.total["ask node by node"]++
		if fails {
			g.total["fail"]++
		}
	} else {
		require.False(t, fails, at)
		g.compare(t, at, &q, &want, &got)
	}
	audit(t, g, at)
	g.c.restore(before)
	if want.Slot >= 0 && !fails {
		q.Pod.Spec.NodeName = g.s.Node(want.Slot).Name
		require.NoError(t, g.s.Set(q.Pod))
		g.running = append(g.running, q.Pod)
	}
}

func (g *game) compare(t *testing.T, at string, q *Question, want, got *Answer) {
	require.Equal(t, []any{want.Slot, want.Total, want.Feasible}, []any{got.Slot, got.Total, got.Feasible}, at)
	if got.Examined > 0 {
		require.Equal(t, want.Examined, got.Examined, at)
		g.total["in order"]++
		if q.Slots != nil {
			g.total["in order, some nodes"]++
		}
	}
	if got.Slot >= 0 {
		require.Nil(t, got.Rejected, at)
		require.False(t, got.Kept, at)
		require.Zero(t, got.VerdictKey, at)
		for _, p := range got.Predicates {
			require.Equal(t, q.Pod.Name, p.(ownShelf).pod.Name, at)
			g.total["own predicates"]++
		}
		return
	}
	require.Equal(t, want.Rejected.Counts(want.Predicates), got.Rejected.Counts(got.Predicates), at)
	if got.VerdictKey.Pods != "" {
		g.total["failures with a kind"]++
		g.checkKind(t, at, got.VerdictKey, want.Predicates)
	}
	if !got.Kept {
		return
	}
	g.total["failures that are kept"]++
	before := maps.Clone(g.c)
	again, known := ask(g.engine, q)
	require.True(t, known, at)
	require.True(t, again.Kept, at)
	require.NotEmpty(t, again.VerdictKey.Pods, at)
	require.Same(t, got.Rejected, again.Rejected, at)
	if got.VerdictKey.Pods != "" {
		require.Equal(t, got.VerdictKey, again.VerdictKey, at)
	}
	for what := range g.c {
		if !strings.HasPrefix(what, "absent") {
			require.Equal(t, before[what], g.c[what], "%s: %s", at, what)
		}
	}
	q.Without = view.Slots{1}
	_, known = ask(g.engine, q)
	require.False(t, known, at)
}

// checkKind checks that the filters judge a node whose object and pods did not change as they judged it for an earlier pod of the kind.
func (g *game) checkKind(t *testing.T, at string, key VerdictKey, ps filter.Predicates) {
	now := make([]verdictAt, g.s.Len())
	for i := range now {
		if g.s.Node(i) == nil {
			continue
		}
		now[i].node = fmt.Sprintf("%p", g.s.Node(i))
		for p := range g.s.Pods(i) {
			now[i].node += " " + p.Name
		}
		r := ps.First(i)
		now[i].verdict = fmt.Sprintf("%T %d", ps[r.Predicate], r.Verdict)
	}
	if before, known := g.failed[key]; known {
		g.total["failures of one kind"]++
		for i := range min(len(before), len(now)) {
			if before[i].node == now[i].node {
				require.Equal(t, before[i].verdict, now[i].verdict, "%s slot %d", at, i)
			}
		}
	}
	g.failed[key] = now
}

// scramble writes into memory that a call may use again, but must not read.
func scramble(r *buffers) {
	r.key = junk(r.key, 'x')
	r.groups, r.feasible = junk(r.groups, candidate{7, 7, heap.Entry{Key: 1 << 60, Slot: 1}, true}), junk(r.feasible, candidate{7, 7, heap.Entry{Key: 1 << 60, Slot: 1}, true})
	r.raw, r.add = junk(r.raw, 77), junk(r.add, 77)
	r.slots, r.counts, r.places = junk(r.slots, 1), junk(r.counts, 77), junk(r.places, 77)
	r.foundNodes = junk(r.foundNodes, foundNode{77, 1, 0})
	r.tied = junk(r.tied, 1<<63-1)
	r.found.Count, r.found.Top = 7, heap.Entry{Key: 1 << 60, Slot: 1}
}

// uncheckedOnly skips what counts questions where the checks of the invariants ask too.
func uncheckedOnly(t *testing.T) {
	t.Helper()
	if checking > 0 {
		t.Skip("the checks of the invariants ask too")
	}
}

func junk[T any](list []T, v T) []T {
	list = slices.Grow(list, 3)[:3]
	for i := range list {
		list[i] = v
	}
	return list
}

// TestPlain: over random clusters and plugins the engine decides as asking each plugin about each node does, and says so where it
// cannot. The file has how often that was, and what the plugins and the log were asked.
func TestPlain(t *testing.T) {
	total := calls{}
	for seed := range uint64(200) {
		g := newGame(t, rand.New(rand.NewPCG(seed, 5)), total)
		for step := range 40 {
			g.step(t, fmt.Sprintf("seed %d step %d", seed, step))
		}
		for what, n := range g.c {
			total[what] += n
		}
	}
	uncheckedOnly(t)
	var out strings.Builder
	for _, what := range slices.Sorted(maps.Keys(total)) {
		fmt.Fprintf(&out, "%s: %d\n", what, total[what])
	}
	testkit.Golden(t, "testdata/plain.txt", out.String())
}

func FuzzPlain(f *testing.F) {
	f.Add(testkit.RandomBytes(1, 2000), uint8(40))
	f.Fuzz(func(t *testing.T, data []byte, steps uint8) {
		g := newGame(t, rand.New(testkit.NewBytes(data)), calls{})
		for step := range steps % 64 {
			g.step(t, fmt.Sprint("step ", step))
		}
	})
}

// ask opens a question and lets the engine answer it.
func ask(e *Engine, q *Question) (Answer, bool) {
	o, ok := e.Open(q)
	if !ok {
		return Answer{}, false
	}
	return e.Decide(&o, q)
}
