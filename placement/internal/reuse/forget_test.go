package reuse

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/placement/internal/hooks"
)

// New serves no profile with a plugin with KeepNothing or with two filters over rows.
func TestNew(t *testing.T) {
	s, err := cluster.New(cluster.Objects{})
	require.NoError(t, err)
	type test struct {
		name    string
		plugins []hooks.Plugin
		serves  bool
	}
	testkit.Run(t, []test{
		{"no plugin", nil, true},
		{"KeepNothing", []hooks.Plugin{{Keep: hooks.KeepNothing, Filter: 0, Score: -1}}, false},
		{"two filters over rows", []hooks.Plugin{{Keep: hooks.KeepByNodeAndPods, Filter: 0, Score: -1}, {Keep: hooks.KeepByNodeAndPods, Filter: 1, Score: -1}}, false},
		{"a filter and a score over rows", []hooks.Plugin{{Keep: hooks.KeepByNodeAndPods, Filter: 0, Score: -1}, {Keep: hooks.KeepByNodeAndPods, Filter: -1, Score: 0}}, true},
		{"two scores over rows", []hooks.Plugin{{Keep: hooks.KeepByNodeAndPods, Filter: -1, Score: 1}, {Keep: hooks.KeepByNodeAndPods, Filter: -1, Score: 0}}, true},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.serves, New(s, c.plugins) != nil)
	})
	e := New(s, []hooks.Plugin{{Keep: hooks.KeepByNodeAndPods, Filter: 2, Score: -1}, {Keep: hooks.KeepByNode, Filter: -1, Score: 1}})
	require.Equal(t, []int{-1, -1, 0}, e.filters)
	require.Equal(t, []int{-1, 1}, e.scores)
}

// Each key is asked for once: by plugins of one KeyName, and by plugins of a part of that name.
func TestKeysOnce(t *testing.T) {
	s, err := cluster.New(cluster.Objects{})
	require.NoError(t, err)
	letter := func(text string) func([]byte, *v1.Pod) []byte {
		return func(dst []byte, _ *v1.Pod) []byte { return append(dst, text...) }
	}
	skips := func(*v1.Pod) bool { return true }
	e := New(s, []hooks.Plugin{
		{Keep: hooks.KeepByNode, Filter: 0, Score: -1, AppendKey: letter("a"), KeyName: "a"},
		{Keep: hooks.KeepByNode, Filter: 1, Score: -1, AppendKey: letter("A"), KeyName: "a"},
		{Keep: hooks.KeepByNode, Filter: 2, Score: -1, AppendKey: letter("b")},
		{Keep: hooks.KeepByNode, Filter: 3, Score: -1, AppendKey: letter("c")},
		{Keep: hooks.KeepByNodeAndPods, Filter: 4, Score: -1, AppendKey: letter("d"), KeyName: "d"},
		{Keep: hooks.KeepByNodeAndPods, Filter: -1, Score: 0, AppendKey: letter("D"), KeyName: "d"},
		{Keep: hooks.KeepByNodeAndPods, Filter: -1, Score: 1, AppendKey: letter("e"), KeyName: "d", AppendRowKey: letter("f")},
		{Keep: hooks.KeepByNodeAndPods, Filter: -1, Score: 2, AppendKey: letter("g"), KeyName: "a"},
		{Keep: hooks.KeepIfSkipped, Filter: 5, Score: -1, AppendKey: letter("x"), KeyName: "a", Skips: skips},
		{Keep: hooks.KeepIfSkipped, Filter: 6, Score: -1, AppendKey: letter("x"), KeyName: "a", Skips: skips},
		{Keep: hooks.KeepIfSkipped, Filter: 7, Score: -1, AppendKey: letter("x"), Skips: skips},
		{Keep: hooks.KeepByNodeAndPods, Filter: -1, Score: 3, AppendKey: letter("no"), Parts: []hooks.Part{{Name: "a", Append: letter("no")}, {Name: "h", Append: letter("h")}, {Name: "h", Append: letter("H")}}},
	})
	require.Equal(t, "\x01a\x01b\x01c", string(e.staticKeys.append(nil, nil)))
	require.Equal(t, "\x01d\x01f\x01g\x02no", string(e.rowKeys.append(nil, nil)))
	require.Equal(t, "\x01a\x01b\x01c\x01d\x01h", string(e.pods.append(nil, nil)))
	require.Len(t, e.skips, 3, "plugins of one KeyName may skip different pods")
}

// simple returns an engine over some nodes for pods of kept_test.go.
func simple(t *testing.T, nodes int) (*Engine, *cluster.Snapshot, func(pod *v1.Pod) Answer) {
	return simpleOf(t, nodes, calls{})
}

// simpleOf is simple with plugins that count their calls.
func simpleOf(t *testing.T, nodes int, c calls) (*Engine, *cluster.Snapshot, func(pod *v1.Pod) Answer) {
	var objects cluster.Objects
	var order []int32
	for k := range nodes {
		objects.Nodes = append(objects.Nodes, testkit.Node(fmt.Sprint("n", k)).Capacity("cpu=8,pods=99").Label("pool", "x").Label("rack", "r").Obj())
		order = append(order, int32(k))
	}
	s, err := cluster.New(objects)
	require.NoError(t, err)
	e := New(s, c.plugins(s))
	return e, s, func(pod *v1.Pod) Answer {
		a, ok := ask(e, &Question{Pod: pod, Order: order})
		require.True(t, ok)
		return a
	}
}

func simplePod(app, cpu string) *v1.Pod {
	return testkit.Pod("p").Labels("app=" + app).Request("cpu=" + cpu).NodeSelector("pool=x").Obj()
}

// After a node has come or left the engine keeps layouts and rows unless they are very large.
func TestMaxKept(t *testing.T) {
	for _, c := range []struct {
		layouts, rows, nodes int
		kept                 bool
	}{{2, 2, maxKept / 4, true}, {3, 1, maxKept / 4, true}, {2, 3, maxKept / 4, false}, {3, 2, maxKept / 4, false}, {1, 0, maxKept, true}, {1, 0, maxKept + 1, false}, {0, 1, maxKept + 1, false}} {
		e, s, _ := simple(t, 2)
		for k := range c.layouts {
			e.layouts[fmt.Sprint(k)] = &layout{}
		}
		for k := range c.rows {
			e.rows[fmt.Sprint(k)] = &rows{}
		}
		e.nodes = append(e.nodes, make([]*v1.Node, c.nodes-len(e.nodes))...)
		require.NoError(t, s.Remove(s.Node(1)))
		e.watch()
		require.Equal(t, c.kept, len(e.layouts)+len(e.rows) > 0, "%+v", c)
	}
}

// After many changes of nodes the engine forgets everything, so that the list of changes ends.
func TestMaxChanges(t *testing.T) {
	for _, more := range []int{0, 1} {
		e, s, decide := simple(t, 2)
		decide(simplePod("a", "1"))
		e.changes = make([]int32, maxChanges-1+more)
		node := s.Node(1).DeepCopy()
		node.Labels["new"] = "x"
		require.NoError(t, s.Set(node))
		e.watch()
		require.Len(t, e.changes, maxChanges*(1-more))
		require.Len(t, e.statics, 1-more)
	}
}

// An engine that has everything it needs asks for no memory.
func TestAllocations(t *testing.T) {
	uncheckedOnly(t)
	e, s, decide := simple(t, 20)
	require.NoError(t, s.Set(testkit.Pod("r").Labels("app=a").Request("cpu=1").On("n3").Obj()))
	pod := simplePod("a", "1")
	for range 3 {
		require.Equal(t, 19, decide(pod).Feasible)
	}
	tie := func(n int) int { return n - 1 }
	first := func(slot int) func(int) int { return func(int) int { return slot } }(0)
	type test struct {
		name     string
		question Question
		want     float64
	}
	testkit.Run(t, []test{
		{"the best node", Question{Pod: pod, Order: e.order}, 0},
		{"one of the best", Question{Pod: pod, Order: e.order, Tie: tie}, 0},
		{"some are left out", Question{Pod: pod, Order: e.order, Without: view.Slots{3}, Tie: first}, 0},
		{"in order", Question{Pod: pod, Order: e.order, From: 2, Limit: 5, Tie: tie}, 0},
	}, func(t *testing.T, c test) {
		ask := func() {
			if _, ok := ask(e, &c.question); !ok {
				t.Error("no answer")
			}
		}
		ask()
		require.Equal(t, c.want, testing.AllocsPerRun(20, ask))
	})
	x := testkit.Pod("x").Labels("app=b").Request("cpu=1").On("n5").Obj()
	follow := func() {
		if s.Set(x) != nil || s.Remove(x) != nil {
			t.Error("set")
		}
	}
	follow()
	alone := testing.AllocsPerRun(20, follow)
	require.Equal(t, alone, testing.AllocsPerRun(20, func() {
		follow()
		decide(pod)
	}), "and none to follow pods")
}

// What is known to do nothing needs no look at the states.
func TestEffects(t *testing.T) {
	e, s, decide := simple(t, 3)
	for range 3 {
		decide(simplePod("a", "1"))
	}
	var sh *podKind
	for _, m := range e.kinds {
		sh = m.podKind
	}
	at := s.Version()
	require.NoError(t, s.Set(testkit.Pod("other").Labels("app=b").On("n1").Obj()))
	require.NoError(t, s.Set(testkit.Pod("same").Labels("app=a").On("n1").Obj()))
	require.NoError(t, s.Set(testkit.Pod("guard").Labels("app=b").RequireApart("rack", "app=c").On("n2").Obj()))
	var events []cluster.Event
	s.Since(at, func(block []cluster.Event) { events = append(events, block...) })
	require.Len(t, events, 3)
	for k := range events {
		require.False(t, sh.effects.none(&events[k]), "event %d is new", k)
	}
	decide(simplePod("a", "1"))
	require.True(t, sh.effects.none(&events[0]))
	require.False(t, sh.effects.none(&events[1]), "the pod counts")
	require.True(t, sh.effects.none(&events[2]), "nor do its terms do anything")
	require.False(t, sh.effects.none(&cluster.Event{Set: events[0].Set, Terms: events[2].Terms + 1, N: 1}), "nobody asked about these terms")
	require.Len(t, sh.effects.counters, 1)
}

// A plugin with KeepByNode without a signature has a name.
func TestUnsigned(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n").Obj()}})
	require.NoError(t, err)
	none := func(dst []byte, _ *v1.Pod) []byte { return dst }
	e := New(s, []hooks.Plugin{
		{Name: "b", Keep: hooks.KeepByNode, Filter: 0, Score: -1, AppendKey: none, Predicate: func(p *v1.Pod) (filter.Predicate, bool) {
			if p.Name != "b" {
				return nil, true
			}
			return struct{ filter.Predicate }{}, true
		}},
		{Name: "a", Keep: hooks.KeepByNode, Filter: -1, Score: 0, AppendKey: func(dst []byte, p *v1.Pod) []byte { return append(dst, p.Name...) }, Scorer: func(p *v1.Pod) (hooks.Scorer, error) {
			if p.Name != "a" {
				return nil, nil
			}
			return struct{ hooks.Scorer }{}, nil
		}},
	})
	for name, want := range map[string]bool{"c": true, "a": false, "b": false} {
		_, ok := ask(e, &Question{Pod: testkit.Pod(name).Obj(), Order: []int32{0}})
		require.Equal(t, want, ok, name)
	}
	require.Equal(t, []string{"a", "b"}, e.Unsigned())
}

// A pod fits on no node when pods of its app run on all of them.
func TestEveryNodeIsAnException(t *testing.T) {
	_, s, decide := simple(t, 3)
	for range 3 {
		require.Equal(t, 3, decide(simplePod("a", "1")).Feasible)
	}
	for k := range 3 {
		require.NoError(t, s.Set(testkit.Pod(fmt.Sprint("r", k)).Labels("app=a").Request("cpu=1").On(fmt.Sprint("n", k)).Obj()))
		got := decide(simplePod("a", "1"))
		require.Equal(t, 2-k, got.Feasible)
		require.Equal(t, k == 2, got.Rejected != nil)
	}
}

// The engine keeps a limited number of failures, and none after an event.
func TestFailuresAreLimited(t *testing.T) {
	e, s, decide := simple(t, 1)
	e.survives = true
	for _, c := range []struct{ known, want int }{{maxKinds - 1, maxKinds}, {maxKinds, 1}} {
		clear(e.failures)
		for k := range c.known {
			e.failures[fmt.Sprint(k)] = &Answer{}
		}
		got := decide(simplePod("a", fmt.Sprint(90+c.known-maxKinds)))
		require.True(t, got.Kept)
		require.Len(t, e.failures, c.want)
	}
	require.NoError(t, s.Set(testkit.Pod("r").Request("cpu=1").On("n0").Obj()))
	decide(simplePod("a", "91"))
	require.Len(t, e.failures, 1, "those of before are gone")
}
