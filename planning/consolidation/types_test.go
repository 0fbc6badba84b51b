package consolidation

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// Replacements that are worked out by hand.
func TestTypes(t *testing.T) {
	kind := func(name, capacity string, price int64) Type {
		return Type{Node: testkit.Node(name).Zone("a").Capacity(capacity).Obj(), Price: price}
	}
	type test struct {
		name, why    string
		fill         func(w *world)
		types        []Type
		before       int64
		after, bound int64
		added        []string
		moves        int
	}
	testkit.Run(t, []test{
		{
			name: "one by a cheaper one", why: "the pod of 2 CPUs does not need the node of 16 for 10: a node of 4 costs 3",
			fill: func(w *world) {
				w.node("n1", "a", "cpu=16")
				w.app("web", "cpu=2", "n1", nil)
			},
			types: []Type{kind("small", "cpu=4", 3)}, before: 10, after: 3, bound: 3, added: []string{"small-new-1"}, moves: 1,
		},
		{
			name: "three by one", why: "three nodes of 4 with 3 CPUs each cannot be merged; one node of 16 for 20 takes the 9 CPUs of three nodes for 30",
			fill: func(w *world) {
				for _, n := range []string{"n1", "n2", "n3"} {
					w.node(n, "a", "cpu=4")
				}
				w.app("web", "cpu=3", "n1 n2 n3", nil)
			},
			types: []Type{kind("large", "cpu=16", 20)}, before: 30, after: 20, bound: 20, added: []string{"large-new-1"}, moves: 3,
		},
		{
			name: "nothing cheaper", why: "a node of 4 for 11 saves nothing",
			fill: func(w *world) {
				w.node("n1", "a", "cpu=4")
				w.app("web", "cpu=3", "n1", nil)
			},
			types: []Type{kind("dear", "cpu=4", 11)}, before: 10, after: 10, bound: 10,
		},
		{
			name: "daemons on the new node", why: "the new node of 4 runs a DaemonSet pod of 2 CPUs, so that the pod of 3 does not fit there",
			fill: func(w *world) {
				w.node("n1", "a", "cpu=16")
				w.app("web", "cpu=3", "n1", nil)
				w.in.DaemonSets = []*appsv1.DaemonSet{{
					ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent"},
					Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}, Template: template("agent", "cpu=2", nil)},
				}}
			},
			types: []Type{kind("small", "cpu=4", 3)}, before: 10, after: 10, bound: 3,
		},
	}, func(t *testing.T, c test) {
		w := &world{}
		c.fill(w)
		w.in.Price = func(*v1.Node) int64 { return 10 }
		w.in.Types = c.types
		plan := w.plan(t, Options{Steps: 50})
		require.Equal(t, c.before, plan.Before)
		require.Equal(t, c.after, plan.After)
		require.Equal(t, c.bound, plan.Bound)
		var added []string
		for _, a := range plan.Added {
			added = append(added, a.Node.Name)
		}
		require.Equal(t, c.added, added)
		require.Equal(t, c.moves, plan.Moves())
		lawful(t, w, plan)
	})
}

// The best single node is the one that saves most with the fewest moves; n2 has two pods, n3 one.
func TestStep(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=2", "n1 n2 n2 n3 n4 n5 n5", nil)
	p := w.planner(t)
	plan, err := p.Step(Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"n1"}, removed(plan))
	require.Equal(t, 1, plan.Moves())
	lawful(t, w, plan)
	w = five("cpu=4")
	w.app("web", "cpu=4", "n1 n2 n3 n4 n5", nil)
	plan, err = w.planner(t).Step(Options{})
	require.NoError(t, err)
	require.Empty(t, plan.Nodes)
	require.Equal(t, int64(5), plan.After)
}

// A node that the search can empty, but whose agent a budget holds, is passed over: n1 saves most, and n2 goes.
func TestStepPassesOver(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=2", "n1 n2 n3 n4 n5", nil)
	w.pod("DaemonSet", "agent", "agent-0", "n1", template("agent", "cpu=1", nil))
	w.objects.Pods[5].Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
	w.budget("agent", 1)
	w.in.Price = func(n *v1.Node) int64 {
		if n.Name == "n1" {
			return 5
		}
		return 1
	}
	plan, err := w.planner(t).Step(Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"n2"}, removed(plan))
	require.Equal(t, plan.Before-1, plan.After)
	require.Equal(t, int64(3), plan.Bound)
}

// A node that is taken away again is as if it had not been added: no rule counts its labels.
func TestWithdraw(t *testing.T) {
	w := five("cpu=4")
	w.objects.Nodes = w.objects.Nodes[:2]
	w.app("web", "cpu=1", "n1", nil)
	bare := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Status: w.objects.Nodes[0].Status}
	w.in.Types = []Type{{Node: bare, Most: 1}}
	w.in.DaemonSets = []*appsv1.DaemonSet{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent"},
		Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}, Template: template("agent", "cpu=1", nil)},
	}}
	p := w.planner(t)
	x := p.newState()
	i := x.snapshot.Slot("x-new-1")
	before := x.snapshot.Node(i)
	require.Empty(t, before.Labels)
	x.reopen(i)
	require.Equal(t, map[string]string{v1.LabelHostname: "x-new-1"}, x.snapshot.Node(i).Labels)
	require.Equal(t, int64(1000), x.snapshot.Requested(i).At(0))
	ok := x.clear(i)
	require.True(t, ok)
	require.Equal(t, before, x.snapshot.Node(i))
	require.Zero(t, x.snapshot.Requested(i).At(0))
	require.Nil(t, bare.Labels)
}

// A type whose node takes the first slot, which is free, is added as others are.
func TestTypeInTheFirstSlot(t *testing.T) {
	gone := testkit.Node("gone").Obj()
	w := &world{}
	w.objects.Nodes = append(w.objects.Nodes, gone)
	w.node("n1", "a", "cpu=16")
	w.app("web", "cpu=2", "n1", nil)
	s, err := cluster.New(w.objects)
	require.NoError(t, err)
	require.NoError(t, s.Remove(gone))
	price := func(*v1.Node) int64 { return 10 }
	p, err := New(Input{Snapshot: s, Price: price, Types: []Type{{Node: testkit.Node("small").Zone("a").Capacity("cpu=4").Obj(), Price: 3, Most: 1}}})
	require.NoError(t, err)
	require.Zero(t, p.base.Slot("small-new-1"))
	plan, err := p.Plan(Options{Steps: -1})
	require.NoError(t, err)
	require.Equal(t, int64(3), plan.After)
	_, err = New(Input{Snapshot: p.base, Types: []Type{{Node: testkit.Node("small").Obj()}}})
	require.EqualError(t, err, "consolidation: node small-new-1: metadata.name: Duplicate value: a node of type small would have the name")
}

// GPUs are freed on whole nodes: two nodes of 8 GPUs have 4 pods with 1 GPU each. Pods without GPUs stay.
func TestDefragment(t *testing.T) {
	w := &world{}
	for _, n := range []string{"n1", "n2", "n3"} {
		w.node(n, "a", "cpu=16,example.com/gpu=8")
	}
	w.node("n4", "a", "cpu=16")
	w.app("train", "cpu=1,example.com/gpu=1", "n1 n1 n1 n1 n2 n2 n2 n2", nil)
	w.app("web", "cpu=1", "n1 n2 n3 n4", nil)
	w.in.Defragment = "example.com/gpu"
	plan := w.plan(t, Options{Steps: 20})
	require.Equal(t, int64(24), plan.Before)
	require.Equal(t, int64(8), plan.After, "%v", lines(plan))
	require.Equal(t, int64(8), plan.Bound)
	require.Equal(t, 4, plan.Moves())
	for _, m := range plan.Waves[0] {
		require.Contains(t, m.Pod.Name, "train")
	}
}

// A replay says where kube-scheduler takes other nodes: it prefers empty nodes, the plan full ones.
func TestReplay(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n2 n3 n4 n4", nil)
	w.in.HoldNode = func(n *v1.Node) string {
		if n.Name == "n5" || n.Name == "n4" {
			return "held"
		}
		return ""
	}
	p := w.planner(t)
	plan, err := p.Plan(Options{Steps: -1})
	require.NoError(t, err)
	require.Equal(t, int64(2), plan.After)
	r, err := p.Replay(plan)
	require.NoError(t, err)
	require.Equal(t, plan.Moves(), r.Same+len(r.Elsewhere)+len(r.Pending))
	require.NotEmpty(t, r.Elsewhere)
	require.Empty(t, r.Pending)
	require.Len(t, r.Nodes, len(r.Elsewhere))
	m := plan.Waves[0][0]
	require.False(t, m.Chosen, "n5 is empty, and kube-scheduler prefers it")
	require.Equal(t, []string{m.To}, m.Pin().NodeSelectorTerms[0].MatchFields[0].Values)
	own := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: v1.NodeSelectorOpExists}}}
	pod := *m.Pod
	pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{}, own}}}}
	m.Pod = &pod
	require.Len(t, m.Pin().NodeSelectorTerms, 1)
	require.Equal(t, own.MatchExpressions, m.Pin().NodeSelectorTerms[0].MatchExpressions)
	require.Len(t, m.Pin().NodeSelectorTerms[0].MatchFields, 1)
	_, err = p.Replay(&Plan{Nodes: []Emptied{{Node: "gone"}}})
	require.EqualError(t, err, `consolidation: node "gone": Not found: the plan is not of this planner`)
	_, err = p.Replay(&Plan{Waves: [][]Move{{{Pod: testkit.Pod("x").Obj()}}}})
	require.EqualError(t, err, "consolidation: pod default/x: Not found: the plan is not of this planner")
}
