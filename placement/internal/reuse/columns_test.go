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
)

// The table of statics has a column for each plugin with more than one answer, and at most maxAnswers combinations.
func TestColumns(t *testing.T) {
	type test struct {
		name    string
		answers []int // of each plugin
		columns int
		n       int // combinations; 0: too many
	}
	testkit.Run(t, []test{
		{"no plugin", nil, 0, 1},
		{"one answer", []int{1}, 0, 1},
		{"two answers", []int{2}, 1, 2},
		{"one answer beside two and three", []int{2, 1, 3}, 2, 6},
		{"as many as the table may have", []int{256, 256}, 2, maxAnswers},
		{"more", []int{256, 257}, 0, 0},
		{"more in the end", []int{256, 256, 2}, 0, 0},
	}, func(t *testing.T, c test) {
		f := newField(rand.New(rand.NewPCG(1, 5)))
		var o cluster.Objects
		for k := range 257 {
			b := testkit.Node(fmt.Sprint("n", k)).Capacity("pods=9,cpu=4")
			for plugin, answers := range c.answers {
				b = b.Label(fmt.Sprint("grade", plugin), strconv.Itoa(k%answers))
			}
			o.Nodes = append(o.Nodes, b.Obj())
		}
		var err error
		f.s, err = cluster.New(o)
		require.NoError(t, err)
		x := statics{class: make([]int32, f.s.Len())}
		for k := range c.answers {
			var a nodePlugin
			s := graded{f.s, fmt.Sprint("grade", k)}
			require.True(t, a.describe(s))
			a.scorer = s
			x.plugins, x.scorers = append(x.plugins, a), append(x.scorers, s)
		}
		columns, n, ok := x.columns(f.s)
		require.Equal(t, c.n > 0, ok)
		require.Equal(t, c.n, n)
		require.Len(t, columns, c.columns)
		_, _, ok = x.columns(bare{f.s})
		require.False(t, ok, "a log without classes")
		_, _, ok = x.columns(unclassed{f.s})
		require.Equal(t, len(c.answers) == 0, ok, "a log that has no classes of these reads")
		x.classifyAll(&Engine{log: f.s, scan: f.order()})
		for i := range f.s.Len() {
			require.Equal(t, x.raws(i), x.raw[x.class[i]], "slot %d", i)
		}
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
		f.plugins = append(f.plugins, Plugin{Name: fmt.Sprint("pools ", k), Group: Statics, Filter: -1, Score: k, Weight: 1, AppendKey: func(dst []byte, _ *v1.Pod) []byte { return dst },
			Scorer: func(p *v1.Pod) (Scorer, error) { return readPools{pools{f.plugin("pools", p)}}, nil }})
	}
	e := New(f.s, f.plugins)
	for range 3 {
		q := Question{Pod: f.pod(), Order: f.order()}
		want, _, _ := f.plain(&q)
		got, ok := e.Decide(&q)
		require.True(t, ok)
		require.Equal(t, []any{want.Slot, want.Total, want.Feasible}, []any{got.Slot, got.Total, got.Feasible})
	}
}
