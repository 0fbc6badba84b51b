package reuse

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement/internal/hooks"
)

// Classes are by what is read where the log can tell and there are few of them, and by answers otherwise.
func TestClasses(t *testing.T) {
	type test struct {
		name    string
		answers []int // of each plugin
		log     func(*cluster.Snapshot) Log
		classes int
		byReads bool
	}
	same := func(s *cluster.Snapshot) Log { return s }
	testkit.Run(t, []test{
		{"no plugin", nil, same, 1, true},
		{"one answer", []int{1}, same, 1, true},
		{"one answer beside two and three", []int{2, 1, 3}, same, 6, true},
		{"as many as there may be", []int{maxClasses}, same, maxClasses, true},
		{"more", []int{maxClasses + 1}, same, maxClasses + 1, false},
		{"more together", []int{16, 17}, same, 257, false},
		{"a log without classes", []int{2}, func(s *cluster.Snapshot) Log { return bare{s} }, 2, false},
		{"a log that has no classes of these reads", []int{2}, func(s *cluster.Snapshot) Log { return unclassed{s} }, 2, false},
	}, func(t *testing.T, c test) {
		var o cluster.Objects
		for k := range 257 {
			b := testkit.Node(fmt.Sprint("n", k)).Capacity("pods=9,cpu=4")
			for plugin, answers := range c.answers {
				b = b.Label(fmt.Sprint("grade", plugin), strconv.Itoa(k%answers))
			}
			o.Nodes = append(o.Nodes, b.Obj())
		}
		s, err := cluster.New(o)
		require.NoError(t, err)
		var plugins []hooks.Plugin
		var order []int
		for k := range c.answers {
			plugins = append(plugins, hooks.Plugin{Keep: hooks.KeepByNode, Filter: -1, Score: k, AppendKey: func(dst []byte, _ *v1.Pod) []byte { return dst },
				Scorer: func(*v1.Pod) (hooks.Scorer, error) { return graded{s, fmt.Sprint("grade", k)}, nil }})
		}
		for i := range s.Len() {
			order = append(order, i)
		}
		e := New(c.log(s), plugins)
		e.scan = order
		x := e.staticsOf(&v1.Pod{})
		require.True(t, x.usable)
		require.Equal(t, c.byReads, x.classes.name != "")
		require.Len(t, x.classes.reps, c.classes)
		for i := range s.Len() {
			require.Equal(t, x.score(make([]int64, len(x.scorers)), i), x.raw[x.classes.of[i]], "slot %d", i)
		}
		require.Same(t, x, e.staticsOf(&v1.Pod{}))
	})
}

// unclassed is a log that cannot divide its nodes.
type unclassed struct{ Log }

func (unclassed) Classes([]string) (ids, reps []int32, ok bool) { return nil, nil, false }

// graded gives the number of a label.
type graded struct {
	s     *cluster.Snapshot
	label string
}

func (x graded) Raw(i int) int64 {
	n, _ := strconv.Atoi(x.s.Node(i).Labels[x.label])
	return int64(n)
}

func (x graded) Reads(dst []string) []string { return append(dst, "label:"+x.label) }

// What changes a node is the same in both directions.
func FuzzChanged(f *testing.F) {
	f.Add(testkit.RandomBytes(1, 4000))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		node := func() *v1.Node {
			n := &v1.Node{}
			n.Name = testkit.Pick(b, "n", "n", "n", "m")
			n.Labels = testkit.Pick(b, nil, map[string]string{"x": ""}, map[string]string{"x": "1"}, map[string]string{"y": "1"})
			n.Status.Images = testkit.Pick(b, nil, []v1.ContainerImage{{Names: []string{"a"}}}, []v1.ContainerImage{{Names: []string{"a"}, SizeBytes: 1}}, []v1.ContainerImage{{Names: []string{"a", "b"}}})
			return n
		}
		for b.More() {
			old, now := node(), node()
			read := testkit.Pick(b, "label:x", "images", "name")
			e := &Engine{log: oneNode{nil, now}, nodes: []*v1.Node{old}, reads: map[string]struct{}{read: {}}}
			want := nothing
			switch x, had := old.Labels["x"]; {
			case old.Name != now.Name:
				want = states
			case read == "images" && fmt.Sprint(old.Status.Images) != fmt.Sprint(now.Status.Images):
				want = everything
			case read == "label:x":
				if y, has := now.Labels["x"]; x != y || had != has {
					want = everything
				}
			}
			require.Equal(t, want, e.changed(0))
			require.Equal(t, []int32{0}, e.changes)
			require.Same(t, now, e.nodes[0])
		}
	})
}

// oneNode is a log with one node.
type oneNode struct {
	Log
	node *v1.Node
}

func (x oneNode) Node(int) *v1.Node { return x.node }

// Statics with more combinations of answers than a table may have ask about each node.
func TestManyAnswers(t *testing.T) {
	f := newField(rand.New(rand.NewPCG(1, 5)))
	var o cluster.Objects
	for k := range 300 {
		o.Nodes = append(o.Nodes, testkit.Node(fmt.Sprint("n", k)).Capacity("pods=9,cpu=4").Label("grade", strconv.Itoa(k%100)).Label("pool", "x").Obj())
	}
	var err error
	f.s, err = cluster.New(o)
	require.NoError(t, err)
	for k := range 3 { // 100 answers each
		f.plugins = append(f.plugins, hooks.Plugin{Name: fmt.Sprint("pools ", k), Keep: hooks.KeepByNode, Filter: -1, Score: k, Weight: 1, AppendKey: func(dst []byte, _ *v1.Pod) []byte { return dst },
			Scorer: func(p *v1.Pod) (hooks.Scorer, error) { return readPools{pools{f.plugin("pools", p)}}, nil }})
	}
	e := New(f.s, f.plugins)
	for range 3 {
		q := Question{Pod: f.pod(), Order: f.order()}
		want, _, _ := f.plain(&q)
		got, ok := ask(e, &q)
		require.True(t, ok)
		require.Equal(t, []any{want.Slot, want.Total, want.Feasible}, []any{got.Slot, got.Total, got.Feasible})
	}
}
