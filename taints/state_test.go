package taints_test

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/taints"
)

func node(ss ...string) *v1.Node {
	return &v1.Node{Spec: v1.NodeSpec{Taints: taintList(ss...)}}
}

func cordoned(n *v1.Node) *v1.Node {
	n.Spec.Unschedulable = true
	return n
}

// one is a cluster of one slot; nil leaves the slot free.
func one(n *v1.Node) *testkit.Cluster { return testkit.NewCluster([]*v1.Node{n}, nil) }

// rejects is the verdict of both filters. Preemption neither removes a taint nor uncordons a node.
const rejects = 1 | resources.Unresolvable

// Both states are predicates.
var (
	_ filter.Predicate = taints.State(nil)
	_ filter.Predicate = taints.CordonState(nil)
)

func tols(ts ...v1.Toleration) []v1.Toleration { return ts }

func TestFilter(t *testing.T) {
	threeTaints := []string{"key1=value1:NoSchedule", "key1=value1:NoExecute", "key2=value2:NoSchedule"}
	type test struct {
		name        string
		node        *v1.Node
		tolerations []v1.Toleration
		rejects     string // the reported taint
		why         string
	}
	cases := []test{
		{"T-20", node(threeTaints...), tols(tol("key1 Equal value1 NoSchedule"), tol("key1 Equal value1 NoExecute")),
			"key2=value2:NoSchedule", "no toleration matches the third taint"},
		{"T-21", node("x=1:Bogus", "y=1"), nil, "", "unknown and empty effects never filter"},
		{"T-22", node("a:PreferNoSchedule", "b:NoExecute", "c:NoSchedule"), tols(tol("c Exists _ _")),
			"b:NoExecute", "the first hard taint in node order that is not tolerated"},
		{"soft only", node("a:PreferNoSchedule"), nil, "", "PreferNoSchedule never filters"},
		{"no taints", node(), nil, "", "nothing to tolerate"},
		{"seconds zero", node("a:NoExecute"), tols(tol("a Exists _ NoExecute", 0)), "", "tolerationSeconds does not filter"},
		{"T-41", node("node.kubernetes.io/unschedulable:NoSchedule"), nil, "node.kubernetes.io/unschedulable:NoSchedule",
			"the real taint is checked like any other, whatever spec.unschedulable"},
		{"cordon is another filter", cordoned(node()), nil, "", "spec.unschedulable is not a taint"},
		{"order of tolerations", node("a=1:NoSchedule", "b=2:NoExecute"), tols(tol("b Exists _ _"), tol("a Exists _ _")), "",
			"their order does not matter"},
		{"everything tolerated", node(threeTaints...), tols(tol("_ Exists _ _")), "", "tolerates all"},
	}
	testkit.Run(t, cases, func(t *testing.T, c test) {
		got := taints.Untolerated(c.node, c.tolerations, taints.Options{})
		ev := taints.Compile(c.tolerations, taints.Options{})
		if c.rejects == "" {
			require.Nil(t, got)
			require.True(t, ev.Tolerates(c.node))
			require.Zero(t, ev.On(one(c.node)).Check(0))
			return
		}
		require.NotNil(t, got)
		require.Equal(t, c.rejects, got.ToString())
		require.False(t, ev.Tolerates(c.node))
		require.Equal(t, rejects, ev.On(one(c.node)).Check(0))
	})
}

func TestCordon(t *testing.T) {
	const key = "node.kubernetes.io/unschedulable"
	type test struct {
		name        string
		tolerations []v1.Toleration
		passes      bool
		why         string
	}
	cases := []test{
		{"none", nil, false, "nothing tolerates"},
		{"T-40 exists", tols(tol(key + " Exists _ NoSchedule")), true, "tolerates the synthetic taint"},
		{"T-40 equal empty", tols(tol(key + " Equal _ _")), true, "the synthetic taint has an empty value"},
		{"T-40 equal x", tols(tol(key + " Equal x _")), false, "the synthetic taint has an empty value"},
		{"T-40 other effect", tols(tol(key + " Exists _ NoExecute")), false, "its effect is NoSchedule"},
		{"T-40 everything", tols(tol("_ Exists _ _")), true, "tolerates all"},
		{"all fields empty", tols(tol("_ _ _ _")), true, "an empty key matches any key, value empty equals empty"},
		{"key only", tols(tol(key + " _ _ _")), true, "no operator means Equal"},
	}
	testkit.Run(t, cases, func(t *testing.T, c test) {
		ev := taints.Compile(c.tolerations, taints.Options{})
		want := rejects
		if c.passes {
			want = 0
		}
		require.Equal(t, want, ev.OnCordon(one(cordoned(node()))).Check(0))
		require.Zero(t, ev.OnCordon(one(node(key+":NoSchedule"))).Check(0), "without spec.unschedulable the filter allows")
	})
}

func TestReasons(t *testing.T) {
	tainted, cordon := taints.Compile(nil, taints.Options{}).On(one(nil)), taints.Compile(nil, taints.Options{}).OnCordon(one(nil))
	require.Nil(t, tainted.Reasons(0))
	require.Nil(t, cordon.Reasons(0))
	require.Equal(t, []string{"node(s) had untolerated taint(s)"}, tainted.Reasons(rejects))
	require.Equal(t, []string{"node(s) were unschedulable"}, cordon.Reasons(rejects))
	require.Equal(t, rejects, tainted.Check(0), "a free slot is rejected")
	require.Equal(t, rejects, cordon.Check(0), "a free slot is rejected")
	require.Equal(t, "TaintToleration NodeUnschedulable", tainted.Name()+" "+cordon.Name())
}

// classed offers classes of equal nodes, by the text of what is read.
type classed struct {
	*testkit.Cluster
	asked []string
	none  bool
}

func (c *classed) Classes(reads []string) (ids, reps []int32, ok bool) {
	c.asked = reads
	if c.none {
		return nil, nil, false
	}
	seen := map[string]int32{}
	for i, n := range c.Nodes {
		if n == nil {
			ids = append(ids, -1)
			continue
		}
		text := fmt.Sprint(n.Spec.Unschedulable, texts(n.Spec.Taints))
		id, known := seen[text]
		if !known {
			id = int32(len(reps))
			seen[text] = id
			reps = append(reps, int32(i))
		}
		ids = append(ids, id)
	}
	return ids, append(reps, -1), true // a class without a slot at the end
}

func randomCluster(r *rand.Rand) *testkit.Cluster {
	nodes := make([]*v1.Node, 1+r.Intn(20))
	for i := range nodes {
		switch {
		case r.Intn(8) == 0:
		case i > 0 && nodes[i-1] != nil && r.Intn(2) == 0:
			nodes[i] = nodes[i-1].DeepCopy()
		default:
			nodes[i] = &v1.Node{Spec: v1.NodeSpec{Taints: randomTaints(r), Unschedulable: r.Intn(4) == 0}}
		}
	}
	return testkit.NewCluster(nodes, nil)
}

// The oracle applies the rules slowly, to the API objects.
// text is a taint's key, value and effect. The String of a taint without a time panics inside fmt, which takes more time than the check.
func text(t v1.Taint) string { return fmt.Sprintf("%q=%q:%q", t.Key, t.Value, t.Effect) }

func texts(list []v1.Taint) (out []string) {
	for _, t := range list {
		out = append(out, text(t))
	}
	return out
}

func oracleRejects(n *v1.Node, ts []v1.Toleration, on bool) string {
	for _, taint := range n.Spec.Taints {
		if taint.Effect != "NoSchedule" && taint.Effect != "NoExecute" {
			continue
		}
		if !oracleTolerates(ts, taint, on) {
			return text(taint)
		}
	}
	return ""
}

func oracleTolerates(ts []v1.Toleration, taint v1.Taint, on bool) bool {
	for _, tl := range ts {
		if toleratesTaint((*v1.Toleration).ToleratesTaint, &tl, &taint, on) {
			return true
		}
	}
	return false
}

func checkState(t *testing.T, r *rand.Rand) {
	c, ts := randomCluster(r), randomTolerations(r)
	on := r.Intn(2) == 0
	ev := taints.Compile(ts, taints.Options{ComparisonOperators: on})
	fast := &classed{Cluster: c}
	fastCordon := &classed{Cluster: c}
	refused := &classed{Cluster: c, none: true}
	states := map[string]taints.State{"plain": ev.On(c), "classes": ev.On(fast), "refused": ev.On(refused)}
	cordons := map[string]taints.CordonState{"plain": ev.OnCordon(c), "classes": ev.OnCordon(fastCordon), "refused": ev.OnCordon(refused)}
	require.Equal(t, []string{"taints"}, fast.asked)
	require.Equal(t, []string{"unschedulable"}, fastCordon.asked)
	known := map[string]string{}
	for i, n := range c.Nodes {
		reject, cordon := "free slot", true
		var raw int64
		if n != nil {
			reject = oracleRejects(n, ts, on)
			cordon = n.Spec.Unschedulable && !oracleTolerates(ts, taint("node.kubernetes.io/unschedulable:NoSchedule"), on)
			for _, tn := range n.Spec.Taints {
				if tn.Effect == "PreferNoSchedule" && !oracleTolerates(ts, tn, on) {
					raw++
				}
			}
		}
		answers := fmt.Sprint(reject != "", cordon, raw)
		for name, s := range states {
			require.Equal(t, reject != "", s.Check(i) == rejects, "%s slot %d", name, i)
			require.Equal(t, raw, s.Raw(i), "%s slot %d", name, i)
			require.Equal(t, cordon, cordons[name].Check(i) == rejects, "%s slot %d", name, i)
			explained, soft := n == nil, int64(0)
			for _, x := range s.Explain(i) {
				if x.By < 0 && (x.Taint.Effect == "NoSchedule" || x.Taint.Effect == "NoExecute") {
					explained = true
				}
				if x.By < 0 && x.Taint.Effect == "PreferNoSchedule" {
					soft++
				}
			}
			require.Equal(t, []any{reject != "", raw}, []any{explained, soft})
			require.Equal(t, []string{"taints", "unschedulable"}, engine.Reads(cordons[name], engine.Reads(s, nil)))
			if n != nil {
				read := fmt.Sprint(texts(n.Spec.Taints), n.Spec.Unschedulable)
				if before, ok := known[read]; ok {
					require.Equal(t, before, answers, "equal in what the states read, different answers")
				}
				known[read] = answers
			}
		}
		if n != nil && reject != "" {
			require.Equal(t, reject, text(*taints.Untolerated(n, ts, taints.Options{ComparisonOperators: on})))
		}
	}
}

func TestStateAgainstOracle(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for range 3000 {
		checkState(t, r)
	}
}

func FuzzState(f *testing.F) {
	f.Add(testkit.RandomBytes(1, 200))
	f.Fuzz(func(t *testing.T, data []byte) { checkState(t, rand.New(testkit.NewBytes(data))) })
}

// FuzzMatches compares Matches with the API's own comparison. The bytes choose the fields of a toleration and of a taint
// among edge values; the two texts are their values.
func FuzzMatches(f *testing.F) {
	f.Add([]byte{1, 4, 0, 0, 1, 3, 0}, "5", "6")
	f.Add([]byte{0, 5, 0, 0, 0, 0, 2}, "-0", "9223372036854775808")
	f.Fuzz(func(t *testing.T, data []byte, value, taintValue string) {
		b := testkit.NewBytes(data)
		tl := v1.Toleration{Key: testkit.Pick(b, someKeys...), Operator: testkit.Pick(b, someOps...), Value: value}
		if !b.OneIn(2) {
			tl.Effect = testkit.Pick(b, someEffects...)
		}
		tn := v1.Taint{Key: testkit.Pick(b, someKeys...), Value: taintValue, Effect: testkit.Pick(b, someEffects...)}
		if b.OneIn(3) {
			tl.Value = fmt.Sprint(int8(b.Next()))
		}
		for _, o := range []taints.Options{{}, numeric} {
			want := toleratesTaint((*v1.Toleration).ToleratesTaint, &tl, &tn, o.ComparisonOperators)
			require.Equal(t, want, taints.Matches(&tl, &tn, o))
		}
	})
}

func TestPermutationChangesNothing(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for range 2000 {
		n := &v1.Node{Spec: v1.NodeSpec{Taints: randomTaints(r)}}
		ts := randomTolerations(r)
		before := taints.Compile(ts, numeric)
		verdict, raw := before.On(one(n)).Check(0), before.On(one(n)).Raw(0)
		r.Shuffle(len(n.Spec.Taints), func(i, j int) {
			n.Spec.Taints[i], n.Spec.Taints[j] = n.Spec.Taints[j], n.Spec.Taints[i]
		})
		r.Shuffle(len(ts), func(i, j int) { ts[i], ts[j] = ts[j], ts[i] })
		after := taints.Compile(ts, numeric)
		require.Equal(t, verdict, after.On(one(n)).Check(0))
		require.Equal(t, raw, after.On(one(n)).Raw(0))
	}
}

func TestNilEvaluator(t *testing.T) {
	var ev *taints.Evaluator
	require.False(t, ev.Tolerates(node("a:NoSchedule")))
	require.True(t, ev.Tolerates(node("a:PreferNoSchedule")))
	require.Equal(t, rejects, ev.OnCordon(one(cordoned(node()))).Check(0))
	require.EqualValues(t, 1, ev.On(one(node("a:PreferNoSchedule"))).Raw(0))
	require.Equal(t, taints.Leave, ev.Deadline(taintList("a:NoExecute")).Stay)
}

func TestExplain(t *testing.T) {
	ts := tols(tol("x Exists _ _"), tol("a Exists _ _"))
	n := node("a=1:NoSchedule", "b:NoExecute", "c:PreferNoSchedule", "d:Bogus")
	x := taints.Compile(ts, taints.Options{}).On(one(n)).Explain(0)
	require.Equal(t, "[a=1:NoSchedule tolerated by tolerations[1] b:NoExecute rejects c:PreferNoSchedule is not preferred d:Bogus has no meaning]", fmt.Sprint(x))
	require.Equal(t, []int{1, -1}, []int{x[0].By, x[1].By})
	require.Equal(t, "x tolerated by tolerations[0]", taints.Explanation{Taint: v1.Taint{Key: "x"}}.String())
	require.Empty(t, taints.Compile(ts, taints.Options{}).On(one(nil)).Explain(0), "a free slot has no taints")
}

func TestNoAllocations(t *testing.T) {
	ts := tols(tol("a Exists _ NoSchedule"), tol("b Gt 5 _"), tol("c Equal x NoExecute", 30))
	n := node("a=1:NoSchedule", "b=7:NoExecute", "b=99999999999999999999:PreferNoSchedule", "c=x:NoExecute")
	ev := taints.Compile(ts, numeric)
	c := testkit.NewCluster([]*v1.Node{n, nil}, nil)
	plain, byClass, cordon := ev.On(c), ev.On(&classed{Cluster: c}), ev.OnCordon(c)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		ev.Tolerates(n)
		ev.ToleratesNoExecute(n.Spec.Taints)
		ev.Deadline(n.Spec.Taints)
		taints.Matches(&ts[1], &n.Spec.Taints[2], numeric)
		for _, s := range []taints.State{plain, byClass} {
			s.Check(0)
			cordon.Check(0)
			s.Raw(0)
			s.Check(1)
		}
	}))
}

// Only taints with effect NoExecute keep a pod off that runs already.
func TestToleratesNoExecute(t *testing.T) {
	type test struct {
		name   string
		taints []v1.Taint
		want   bool
		why    string
	}
	ev := taints.Compile(tols(tol("a Exists _ _"), tol("b Exists _ NoExecute", 0)), taints.Options{})
	testkit.Run(t, []test{
		{"no taints", nil, true, "nothing to tolerate"},
		{"tolerated", taintList("a:NoExecute"), true, "any effect"},
		{"tolerated for no time", taintList("b:NoExecute"), true, "tolerationSeconds does not matter"},
		{"untolerated", taintList("c:NoExecute"), false, "no toleration has the key"},
		{"other effects", taintList("c:NoSchedule", "c:PreferNoSchedule", "c:Bogus"), true, "they do not concern running pods"},
		{"second of two", taintList("a:NoExecute", "c:NoExecute"), false, "each must be tolerated"},
		{"first of two", taintList("c:NoExecute", "a:NoExecute"), false, "each must be tolerated"},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.want, ev.ToleratesNoExecute(c.taints))
	})
	require.False(t, (*taints.Evaluator)(nil).ToleratesNoExecute(taintList("a:NoExecute")))
	require.True(t, (*taints.Evaluator)(nil).ToleratesNoExecute(taintList("a:NoSchedule")))
}

// Nodes of one class are looked at once, and every node has the answer that it has alone.
func TestClassesOfNodes(t *testing.T) {
	c := testkit.NewCluster([]*v1.Node{node("a:NoSchedule"), node("b:PreferNoSchedule"), node("a:NoSchedule"), node("b:PreferNoSchedule")}, nil)
	s := taints.Compile(nil, numeric).On(&classed{Cluster: c})
	for i, n := range c.Nodes {
		alone := taints.Compile(nil, numeric).On(one(n))
		require.Equal(t, alone.Check(0), s.Check(i))
		require.Equal(t, alone.Raw(0), s.Raw(i))
		require.Equal(t, i%2 == 0, s.Check(i) == rejects)
	}
}

// counted counts how often a node is read.
type counted struct {
	*cluster.Snapshot
	nodes int
}

func (c *counted) Node(i int) *v1.Node {
	c.nodes++
	return c.Snapshot.Node(i)
}

// Both filters look at one node of each class of equal nodes, and later questions look at none.
func TestOneNodeOfEachClass(t *testing.T) {
	var nodes []*v1.Node
	for i := range 40 {
		n := testkit.Node(fmt.Sprint("n", i)).Taint("a:NoSchedule")
		if i%2 == 1 {
			n = testkit.Node(fmt.Sprint("n", i)).Unschedulable()
		}
		nodes = append(nodes, n.Obj())
	}
	s, err := cluster.New(cluster.Objects{Nodes: nodes})
	require.NoError(t, err)
	c := &counted{Snapshot: s}
	e := taints.Compile(nil, taints.Options{})
	tainted, cordoned := e.On(c), e.OnCordon(c)
	for i := range 40 {
		require.Equal(t, i%2 == 1, tainted.Check(i) == 0)
		require.Equal(t, i%2 == 0, cordoned.Check(i) == 0)
	}
	require.Equal(t, 4, c.nodes)
}
