package consolidation

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	volumetracker "github.com/podberth/podberth/volumes/tracker"
)

// What New refuses, and the text of each error.
func TestBadInput(t *testing.T) {
	snapshot := func() *cluster.Snapshot {
		w := five("cpu=4")
		s, err := cluster.New(w.objects)
		require.NoError(t, err)
		return s
	}
	taken, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("x-new-1").Obj()}})
	require.NoError(t, err)
	running := func(change func(*v1.PodSpec)) *cluster.Snapshot {
		w := five("cpu=4")
		w.app("web", "cpu=1", "n1", change)
		s, err := cluster.New(w.objects)
		require.NoError(t, err)
		return s
	}
	type test struct {
		name string
		in   Input
		text string
	}
	testkit.Run(t, []test{
		{"nothing", Input{}, "consolidation: the input has no snapshot"},
		{"volumes", Input{Snapshot: snapshot(), Profile: placement.Profile{Volumes: volumetracker.New(snapshot(), volumetracker.Of(snapshot()))}}, "consolidation: profile.Volumes: Forbidden: every plan has volumes of its own"},
		{"nil deployment", Input{Snapshot: snapshot(), Deployments: []*appsv1.Deployment{nil}}, "consolidation: deployments[0]: Required value: must not be nil"},
		{"negative price", Input{Snapshot: snapshot(), Price: func(*v1.Node) int64 { return -1 }}, "consolidation: node n1: price: Invalid value: -1: must not be negative"},
		{"nil type", Input{Snapshot: snapshot(), Types: []Type{{}}}, "consolidation: types[0].node.metadata.name: Required value: a type has a node with a name"},
		{"negative price of a type", Input{Snapshot: snapshot(), Types: []Type{{Node: testkit.Node("x").Obj(), Price: -1}}}, "consolidation: types[0].price: Invalid value: -1: must not be negative"},
		{"name of a type that is taken", Input{Snapshot: taken, Types: []Type{{Node: testkit.Node("x").Obj()}}}, "consolidation: node x-new-1: metadata.name: Duplicate value: a node of type x would have the name"},
		{"nil daemon set", Input{Snapshot: snapshot(), Types: []Type{{Node: testkit.Node("x").Obj()}}, DaemonSets: []*appsv1.DaemonSet{nil}}, "DaemonSet 0 of the list: Required value: must not be nil"},
		{"spread constraint of a running pod", Input{Snapshot: running(func(s *v1.PodSpec) {
			spreadOver("web", v1.LabelTopologyZone)(s)
			s.TopologySpreadConstraints[0].LabelSelector = wrong()
		})}, `get constraints from pod: obtaining pod's hard topology spread constraints: "Like" is not a valid label selector operator`},
		{"required term of a running pod", Input{Snapshot: running(func(s *v1.PodSpec) {
			apart("web", v1.LabelTopologyZone)(s)
			s.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector = wrong()
		})}, `parsing pod: requiredAntiAffinityTerms: "Like" is not a valid label selector operator`},
		{"price and resource", Input{Snapshot: snapshot(), Defragment: "cpu", Price: func(*v1.Node) int64 { return 1 }}, "consolidation: defragment: Forbidden: with a price or types"},
		{"domains and resource", Input{Snapshot: snapshot(), Defragment: "cpu", FreeDomains: "rack"}, "consolidation: freeDomains: Forbidden: with a price, types or defragment"},
		{"types and resource", Input{Snapshot: snapshot(), Defragment: "cpu", Types: []Type{{Node: testkit.Node("x").Obj()}}}, "consolidation: defragment: Forbidden: with a price or types"},
		{"nil filter", Input{Snapshot: snapshot(), Profile: placement.Profile{Filters: []*placement.Plugin{nil}}}, "filters[0]: Required value: a plugin"},
	}, func(t *testing.T, c test) {
		p, err := New(c.in)
		require.EqualError(t, err, c.text)
		require.Nil(t, p)
	})
}

// wrong is a selector that the API server refuses.
func wrong() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like", Values: []string{"web"}}}}
}

// A pod whose preferred terms cannot be read is placed nowhere, as by kube-scheduler, and holds no other pod.
func TestWrongPreferredTerm(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1", func(s *v1.PodSpec) {
		s.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{
			Weight: 1, PodAffinityTerm: v1.PodAffinityTerm{TopologyKey: v1.LabelHostname, LabelSelector: wrong()},
		}}}}
	})
	w.app("other", "cpu=1", "n2", nil)
	plan := w.plan(t, Options{Steps: 20})
	require.Equal(t, []string{"0 other-0 n2 n1", "remove n3 after -1", "remove n4 after -1", "remove n5 after -1", "remove n2 after 0"}, lines(plan))
}

// Replay returns the error of the snapshot for a plan that somebody changed.
func TestReplayOfChangedPlans(t *testing.T) {
	type test struct {
		name   string
		change func(*Plan)
		text   string
	}
	testkit.Run(t, []test{
		{"a node that is nil is added", func(p *Plan) { p.Added = []Added{{}} }, "nodes: Required value: a nil node"},
		{"a pod moves twice", func(p *Plan) { p.Waves = append(p.Waves, p.Waves[0]) }, `pods: Not found: "default/web-0"`},
	}, func(t *testing.T, c test) {
		w := five("cpu=4")
		w.app("web", "cpu=1", "n1 n2", nil)
		p := w.planner(t)
		plan, err := p.Plan(Options{Steps: -1})
		require.NoError(t, err)
		c.change(plan)
		replay, err := p.Replay(plan)
		require.EqualError(t, err, c.text)
		require.Nil(t, replay)
	})
}

// Clusters with nothing to plan: no nodes, no pods, prices of 0, every node held, options below 0.
func TestNothingToDo(t *testing.T) {
	type test struct {
		name   string
		w      *world
		fill   func(w *world)
		before int64
		after  int64
	}
	testkit.Run(t, []test{
		{"no nodes", &world{}, func(*world) {}, 0, 0},
		{"no pods", five("cpu=4"), func(*world) {}, 5, 0},
		{"free nodes", five("cpu=4"), func(w *world) { w.in.Price = func(*v1.Node) int64 { return 0 } }, 0, 0},
		{"held nodes", five("cpu=4"), func(w *world) { w.in.HoldNode = func(*v1.Node) string { return "held" } }, 5, 5},
		{"orphan", five("cpu=4"), func(w *world) { w.app("web", "cpu=1", "gone", nil) }, 5, 0},
	}, func(t *testing.T, c test) {
		c.fill(c.w)
		plan := c.w.plan(t, Options{Steps: -1, MaxMoves: -1})
		require.Equal(t, c.before, plan.Before)
		require.Equal(t, c.after, plan.After)
		require.Equal(t, c.after, plan.Bound)
		require.Zero(t, plan.Gap())
		require.Empty(t, plan.Waves)
		lawful(t, c.w, plan)
	})
}

// Stop ends a search before the first node, and the plan is empty then.
func TestStop(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n2 n3 n4 n5", nil)
	asked := 0
	plan := w.plan(t, Options{Steps: 100, Stop: func() bool { asked++; return true }})
	require.Equal(t, int64(5), plan.After)
	require.Equal(t, int64(2), plan.Bound)
	require.Equal(t, 3, asked)
	require.Equal(t, 5, plan.Untried)
	require.InDelta(t, 0.6, plan.Gap(), 1e-9)
	left := 2
	plan = w.plan(t, Options{Stop: func() bool { left--; return left < 0 }})
	require.Equal(t, []int{3, 0}, []int{plan.Untried, plan.Steps})
	step, err := w.planner(t).Step(Options{Stop: func() bool { return true }})
	require.NoError(t, err)
	require.Equal(t, 5, step.Untried)
}

// A search without Steps ends after the default, and one with less than none after the first set of nodes.
func TestDefaultSteps(t *testing.T) {
	testkit.Sequential(t)
	w := pack(rand.New(rand.NewPCG(1, 8)), 5)
	require.Equal(t, w.plan(t, Options{Steps: DefaultSteps}), w.plan(t, Options{}))
	require.Equal(t, DefaultSteps, w.plan(t, Options{}).Steps)
	require.Zero(t, w.plan(t, Options{Steps: -1}).Steps)
}
