package reuse

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement/internal/heap"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/resources"
)

// rated is a scorer over rows that gives every node the same.
type rated struct{ raw int64 }

func (x rated) Raw(int) int64 { return x.raw }
func (x rated) RawRow(int, resources.Vector, resources.Vector, int64, int64) int64 {
	return x.raw
}
func (x rated) MaxRawRow(_, _ [2]resources.Vector, _, _ [2]int64) int64 { return x.raw }

// A sum of scores has room in a key when it is from 0 to maxRowScore-1.
func TestKey(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n").Capacity("cpu=1").Obj()}})
	require.NoError(t, err)
	for _, c := range []struct {
		raw  int64
		fits bool
	}{{0, true}, {-1, false}, {maxRowScore - 1, true}, {maxRowScore, false}} {
		for _, row := range []hooks.RowScorer{nil, rated{c.raw}} {
			a := rowPlugins{log: s, scorers: []rowScorer{{Scorer: rated{c.raw}, weight: 1, row: row}}}
			key, _, ok := a.key(0, 3)
			require.Equal(t, c.fits, ok, "%+v", c)
			if ok {
				require.Equal(t, c.raw<<32+math.MaxUint32-3, key, "%+v", c)
			}
			sh := &podKind{engine: &Engine{log: s, plugins: []hooks.Plugin{{Keep: hooks.KeepByNodeAndPods, Weight: 1, Scorer: func(*v1.Pod) (hooks.Scorer, error) { return rated{c.raw}, nil }}}, scores: []int{0}}, rowsAt: -1}
			require.True(t, sh.prepareRows(nil))
			if score, ok := sh.rowScore(0); c.fits {
				require.True(t, ok, "%+v", c)
				require.Equal(t, c.raw, score, "%+v", c)
			} else {
				require.False(t, ok, "%+v", c)
			}
		}
	}
}

// anywhere is a filter over boxes.
type anywhere struct{ filter.Predicate }

func (anywhere) CheckRows(_, _ [2]resources.Vector) (resources.Verdict, bool) { return 0, true }

// Boxes are searched when every plugin answers about boxes and no sum of scores can reach maxRowScore.
func TestSearchable(t *testing.T) {
	const most = (maxRowScore - 1) / 100
	type test struct {
		name    string
		plugins rowPlugins
		weights []int64
		want    bool
	}
	testkit.Run(t, []test{
		{"no scores", rowPlugins{filter: anywhere{}}, nil, true},
		{"no filter", rowPlugins{}, nil, false},
		{"a filter without boxes", rowPlugins{filter: struct{ filter.Predicate }{}}, nil, false},
		{"other nodes are read", rowPlugins{filter: anywhere{}, reads: true}, nil, false},
		{"weight 0", rowPlugins{filter: anywhere{}}, []int64{0}, true},
		{"a negative weight", rowPlugins{filter: anywhere{}}, []int64{-1}, false},
		{"the largest weight", rowPlugins{filter: anywhere{}}, []int64{most}, true},
		{"a larger weight", rowPlugins{filter: anywhere{}}, []int64{most + 1}, false},
		{"the largest sum", rowPlugins{filter: anywhere{}}, []int64{5, most - 5}, true},
		{"a larger sum", rowPlugins{filter: anywhere{}}, []int64{5, most - 4}, false},
		{"a sum that overflows", rowPlugins{filter: anywhere{}}, []int64{math.MaxInt64, 2}, false},
	}, func(t *testing.T, c test) {
		for _, w := range c.weights {
			c.plugins.scorers = append(c.plugins.scorers, rowScorer{weight: w, rows: rated{}})
		}
		f, ok := c.plugins.searchable()
		require.Equal(t, c.want, ok)
		require.Equal(t, c.want, f != nil)
	})
	a := rowPlugins{filter: anywhere{}, scorers: []rowScorer{{weight: 1, rows: rated{}}, {weight: 1}}}
	_, ok := a.searchable()
	require.False(t, ok, "a scorer without boxes")
}

// The verdict keys of three sorts of kinds differ, and each grows with what changes the answers.
func TestKindState(t *testing.T) {
	e := &Engine{forgotAt: 3, columns: 3}
	counts := &podKind{engine: e, static: &statics{}, podKey: "k", statesChanged: 3, counted: make([]counted, 1)}
	bare := &podKind{engine: e, static: &statics{}, podKey: "k"}
	require.Equal(t, VerdictKey{"k", 13}, counts.verdictKey())
	require.Equal(t, VerdictKey{"k", 15}, bare.verdictKey(), "the nodes may change")
	e.survives = true
	require.Equal(t, VerdictKey{"k", 14}, bare.verdictKey(), "verdicts name columns")
	for _, s := range []*podKind{
		{engine: e, static: &statics{}, podKey: "k", shifts: true}, {engine: e, static: &statics{}, podKey: "k", perPod: true},
		{engine: e, static: &statics{storage: true}, podKey: "k"},
	} {
		require.Zero(t, s.verdictKey())
	}
}

// A class is never given up. When changes of nodes have made too many, the classes are dropped, with what depends on them.
func TestTooManyClasses(t *testing.T) {
	var objects cluster.Objects
	var order []int32
	for k := range 2 {
		objects.Nodes = append(objects.Nodes, testkit.Node(fmt.Sprint("n", k)).Capacity("cpu=4,pods=9").Label("grade", "0").Obj())
		order = append(order, int32(k))
	}
	s, err := cluster.New(objects)
	require.NoError(t, err)
	e := New(s, []hooks.Plugin{
		{Keep: hooks.KeepByNode, Filter: -1, Score: 0, Weight: 1, AppendKey: func(dst []byte, _ *v1.Pod) []byte { return dst },
			Scorer: func(*v1.Pod) (hooks.Scorer, error) { return graded{s, "grade"}, nil }},
		{Keep: hooks.KeepByNodeAndPods, Filter: -1, Score: 1, AppendKey: func(dst []byte, p *v1.Pod) []byte { return append(dst, p.Name...) },
			Scorer: func(*v1.Pod) (hooks.Scorer, error) { return rated{0}, nil }},
	})
	grade := func(n int) {
		node := s.Node(0).DeepCopy()
		node.Labels["grade"] = fmt.Sprint(n)
		require.NoError(t, s.Set(node))
	}
	best := func(pod string) int64 {
		got, ok := ask(e, &Question{Pod: testkit.Pod(pod).Obj(), Order: order})
		require.True(t, ok)
		require.NoError(t, e.valid())
		return got.Total
	}
	for range 3 {
		require.Zero(t, best("a"))
		require.Zero(t, best("b"))
	}
	require.Len(t, e.classes, 1)
	require.Len(t, e.layouts, 3, "one without heaps, two with")
	var before *classes
	for _, before = range e.classes {
	}
	change := func(n int) {
		grade(n%100 + 1)
		require.EqualValues(t, n%100+1, best("a"))
	}
	for n := range maxClasses - 1 {
		change(n)
	}
	require.Len(t, before.reps, maxClasses, "a class without nodes stays a class")
	require.False(t, before.dropped)
	change(maxClasses)
	require.True(t, before.dropped)
	require.Len(t, e.classes, 1)
	for _, now := range e.classes {
		require.Len(t, now.reps, 2)
	}
	require.EqualValues(t, maxClasses%100+1, best("b"), "the other kind with these statics has new ones too")
}

// What is read of a node says whether a change of the node matters to other nodes.
func TestReadChanged(t *testing.T) {
	node := func(labels map[string]string, images ...v1.ContainerImage) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Status: v1.NodeStatus{Images: images}}
	}
	a, b := v1.ContainerImage{Names: []string{"a", "b"}, SizeBytes: 1}, v1.ContainerImage{Names: []string{"c"}, SizeBytes: 1}
	type test struct {
		name, read string
		old, new   *v1.Node
		want       bool
	}
	testkit.Run(t, []test{
		{"the label", "label:x", node(map[string]string{"x": "1"}), node(map[string]string{"x": "2"}), true},
		{"another label", "label:x", node(map[string]string{"x": "1"}), node(map[string]string{"x": "1", "y": "2"}), false},
		{"the label goes", "label:x", node(map[string]string{"x": "1"}), node(nil), true},
		{"the empty label comes", "label:x", node(nil), node(map[string]string{"x": ""}), true},
		{"no label", "label:x", node(nil), node(map[string]string{"y": ""}), false},
		{"the name", "name", node(nil), node(nil), false},
		{"something else", "taints", node(nil), node(nil), true},
		{"the same images", "images", node(nil, a, b), node(nil, a, b), false},
		{"no images", "images", node(nil), node(nil), false},
		{"more images", "images", node(nil, a), node(nil, a, b), true},
		{"an image of another size", "images", node(nil, a), node(nil, v1.ContainerImage{Names: []string{"a", "b"}, SizeBytes: 2}), true},
		{"the second is of another size", "images", node(nil, b, a), node(nil, b, v1.ContainerImage{Names: []string{"a", "b"}, SizeBytes: 2}), true},
		{"an image of fewer names", "images", node(nil, a), node(nil, v1.ContainerImage{Names: []string{"a"}, SizeBytes: 1}), true},
		{"an image of another name", "images", node(nil, a), node(nil, v1.ContainerImage{Names: []string{"a", "c"}, SizeBytes: 1}), true},
		{"of another first name", "images", node(nil, a), node(nil, v1.ContainerImage{Names: []string{"c", "b"}, SizeBytes: 1}), true},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.want, readChanged(c.read, c.old, c.new))
		require.Equal(t, c.want, readChanged(c.read, c.new, c.old), "%s, the other way round")
	})
}

// Of the candidates with the largest total the first in scan order is the best, whatever the order of the groups.
func TestBest(t *testing.T) {
	groups := []candidate{
		{top: heap.Entry{Key: heap.Key(1, 5), Slot: 50}}, {top: heap.Entry{Key: heap.Key(3, 2), Slot: 20}}, {top: heap.Entry{Key: heap.Key(0, 1), Slot: 10}}, {top: heap.Entry{Key: heap.Key(9, 9), Slot: 90}},
	}
	for _, c := range []struct {
		weight int64
		raw    []int64
		slot   int
		total  int64
	}{
		{1, []int64{0, 0, 0, 0}, 90, 9}, {1, []int64{13, 11, 14, 0}, 10, 14}, {1, []int64{13, 11, 13, 0}, 20, 14}, {1, []int64{9, 1, 5, 1}, 50, 10},
		{-1, []int64{11, 13, 10, 19}, 10, -10},
	} {
		raw := bySlot{}
		for k := range groups {
			raw[int(groups[k].top.Slot)] = c.raw[k]
		}
		s := &podKind{engine: &Engine{}, static: &statics{scorers: make([]hooks.Scorer, 1)}, order: []int{0}, scorers: []hooks.Ranking{hooks.NewRanking(raw, "raw", c.weight)}}
		out := Answer{Feasible: len(groups)}
		add, ok := s.best(groups, &out)
		require.True(t, ok)
		require.Len(t, add, len(groups))
		require.Equal(t, []any{c.slot, c.total}, []any{out.Slot, out.Total}, "%v", c.raw)
		raw[10] = 101
		_, ok = s.best(groups, &out)
		require.False(t, ok, "a score out of range")
	}
	out := Answer{Feasible: 1}
	add, ok := (&podKind{}).best(groups[:1], &out)
	require.True(t, ok)
	require.Empty(t, add, "one node needs no scores")
	require.Equal(t, []any{50, int64(0)}, []any{out.Slot, out.Total})
}

// bySlot is a scorer by slot.
type bySlot map[int]int64

func (x bySlot) Raw(i int) int64 { return x[i] }
