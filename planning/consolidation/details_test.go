package consolidation

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// A pod waits for its place: web is larger and comes first, but its place n3 is free only when db-1 is there, because web wants a db in
// its zone. n2 would take web at once.
func TestWaitsForItsPlace(t *testing.T) {
	w := five("cpu=4")
	w.app("db", "cpu=1", "n2 n1", nil)
	w.app("web", "cpu=2", "n1", beside("db", v1.LabelTopologyZone))
	p := w.planner(t)
	c := choice{nodes: []int{p.base.Slot("n1")}, target: map[int32]int32{}}
	for id := range p.loads {
		if p.loads[id].slot == int32(c.nodes[0]) {
			c.target[int32(id)] = int32(p.base.Slot("n3"))
		}
	}
	plan := p.order(c)
	require.Equal(t, []string{"0 db-1 n1 n3", "1 web-0 n1 n3", "remove n1 after 1"}, lines(plan))
	lawful(t, w, plan)
}

// Two pods that wait for one pod go in one wave once it is there.
func TestTwoWaitForOne(t *testing.T) {
	w := five("cpu=4")
	w.app("db", "cpu=1", "n2 n1", nil)
	w.app("web", "cpu=2", "n1", beside("db", v1.LabelTopologyZone))
	w.app("api", "cpu=1", "n1", func(s *v1.PodSpec) {
		beside("db", v1.LabelTopologyZone)(s)
		s.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector = &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"db"}}}}
	})
	p := w.planner(t)
	c := choice{nodes: []int{p.base.Slot("n1")}, target: map[int32]int32{}}
	for id := range p.loads {
		if p.loads[id].slot == int32(c.nodes[0]) {
			c.target[int32(id)] = int32(p.base.Slot("n3"))
		}
	}
	plan := p.order(c)
	require.Equal(t, []string{"0 db-1 n1 n3", "1 web-0 n1 n3", "1 api-0 n1 n3", "remove n1 after 1"}, lines(plan))
	lawful(t, w, plan)
}

// A pod whose place is taken for good goes elsewhere.
func TestElsewhere(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=3", "n1 n3", nil)
	p := w.planner(t)
	slot := func(name string) int { return p.base.Slot(name) }
	c := choice{nodes: []int{slot("n1")}, target: map[int32]int32{}}
	for id := range p.loads {
		if p.loads[id].slot == int32(slot("n1")) {
			c.target[int32(id)] = int32(slot("n3"))
		}
	}
	plan := p.order(c)
	require.Equal(t, []string{"n1"}, removed(plan))
	require.NotEqual(t, "n3", plan.Waves[0][0].To)
	lawful(t, w, plan)
}

// Pods go to nodes that stay anyway: n2 is held and nearly empty, n3 is fuller.
func TestHeldNodesFirst(t *testing.T) {
	w := five("cpu=8")
	w.objects.Nodes = w.objects.Nodes[:3]
	w.pod("", "", "bare", "n2", template("bare", "cpu=1", nil))
	w.app("web", "cpu=1", "n1", nil)
	w.app("other", "cpu=2", "n3 n3", nil)
	plan, err := w.planner(t).Step(Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"0 web-0 n1 n2", "remove n1 after 0"}, lines(plan))
}

// A node that costs nothing stays, although its pod would fit elsewhere.
func TestFreeNodes(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n2", nil)
	w.in.Price = func(n *v1.Node) int64 {
		if n.Name == "n1" {
			return 0
		}
		return 1
	}
	plan := w.plan(t, Options{Steps: 20})
	require.NotContains(t, removed(plan), "n1")
	require.Zero(t, plan.After)
}

// Improved hears of costs that fall.
func TestImproved(t *testing.T) {
	var costs []int64
	w := large(40, 6)
	plan := w.plan(t, Options{Steps: 200, Improved: func(x Progress) { costs = append(costs, x.Cost) }})
	require.NotEmpty(t, costs)
	for k := range costs[1:] {
		require.Less(t, costs[k+1], costs[k])
	}
	require.LessOrEqual(t, costs[len(costs)-1], plan.After)
}

// Names that are taken are not given to new pods, and the objects of types stay as they are.
func TestNamesAndTypes(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1", nil)
	w.pod("", "", "web-0-again", "n2", template("bare", "cpu=1", nil))
	small := testkit.Node("small").Capacity("cpu=4").Obj()
	labels := map[string]string{}
	for k, v := range small.Labels {
		labels[k] = v
	}
	w.in.Types = []Type{{Node: small, Price: 1}}
	plan, err := w.planner(t).Step(Options{})
	require.NoError(t, err)
	require.Empty(t, plan.Waves, "an empty node goes first")
	w.in.HoldNode = func(n *v1.Node) string {
		if n.Name > "n2" {
			return "held"
		}
		return ""
	}
	plan, err = w.planner(t).Step(Options{})
	require.NoError(t, err)
	require.Equal(t, "web-0-again-1", plan.Waves[0][0].New.Name)
	require.Equal(t, labels, small.Labels)
}

// A type may offer, and a DaemonSet ask for, a resource that no node and no pod of the cluster names.
func TestTypeWithoutResourceOfDaemonSet(t *testing.T) {
	w := five("cpu=4")
	w.in.Types = []Type{{Node: testkit.Node("small").Capacity("cpu=4,example.com/disk=1").Obj(), Price: 1}}
	w.in.DaemonSets = []*appsv1.DaemonSet{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent", UID: "agent"},
		Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}, Template: template("agent", "example.com/fpga=1", nil)},
	}}
	_, err := w.planner(t).Step(Options{})
	require.NoError(t, err)
}

// Controllers of every kind say how many pods a percentage is of; without replicas they want one.
func TestScaleOfControllers(t *testing.T) {
	half := intstr.FromString("50%")
	type test struct {
		name     string
		replicas *int32
		kind     string
		held     bool
	}
	testkit.Run(t, []test{
		{"half of 4 replicas are 2, and 2 pods of a controller run", ptr(int32(4)), "ReplicationController", true},
		{"half of 2 replicas are 1", ptr(int32(2)), "ReplicationController", false},
		{"without replicas a controller wants 1", nil, "ReplicationController", false},
		{"half of 4 replicas are 2, and 2 pods of a set run", ptr(int32(4)), "ReplicaSet", true},
		{"without replicas a set wants 1", nil, "ReplicaSet", false},
	}, func(t *testing.T, c test) {
		w := five("cpu=4")
		r := w.app("web", "cpu=1", "n1 n2", nil)
		r.Spec.Replicas = c.replicas
		w.budget("web", 1)
		w.objects.PodDisruptionBudgets[0].Spec.MinAvailable = &half
		if c.kind == "ReplicationController" {
			w.objects.ReplicaSets = nil
			w.objects.ReplicationControllers = []*v1.ReplicationController{{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: r.UID}, Spec: v1.ReplicationControllerSpec{Replicas: c.replicas},
			}}
			for _, p := range w.objects.Pods {
				p.OwnerReferences[0].APIVersion, p.OwnerReferences[0].Kind = "v1", "ReplicationController"
			}
		}
		require.Equal(t, c.held, len(w.plan(t, Options{}).Kept) == 2)
	})
}

// Controllers that are not among the objects want as many pods as they have, each by its kind and its name. A Job and a DaemonSet have
// no scale.
func TestScaleOfUnknownControllers(t *testing.T) {
	third := intstr.FromString("34%")
	type test struct {
		name, why string
		owners    [2][3]string // kind, name and UID, of two pods each
		leaves    bool         // the last pod is being deleted
		status    [2]int32     // how many pods are expected, and how many must be healthy
	}
	testkit.Run(t, []test{
		{"one owner", "34 % of 4 pods are 2, rounded up", [2][3]string{{"Rollout", "a", "1"}, {"Rollout", "a", "1"}}, false, [2]int32{4, 2}},
		{"a pod leaves", "34 % of 3 pods are 2, rounded up", [2][3]string{{"Rollout", "a", "1"}, {"Rollout", "a", "1"}}, true, [2]int32{3, 2}},
		{"made again", "an owner of the same kind and name counts once", [2][3]string{{"Rollout", "a", "1"}, {"Rollout", "a", "2"}}, false, [2]int32{4, 2}},
		{"two names", "34 % of 2 + 2 pods", [2][3]string{{"Rollout", "a", "1"}, {"Rollout", "b", "2"}}, false, [2]int32{4, 2}},
		{"two kinds", "34 % of 2 + 2 pods", [2][3]string{{"Rollout", "a", "1"}, {"CloneSet", "a", "2"}}, false, [2]int32{4, 2}},
		{"a job", "how many pods are expected is not known", [2][3]string{{"Rollout", "a", "1"}, {"Job", "a", "2"}}, false, [2]int32{}},
		{"a daemon set", "how many pods are expected is not known", [2][3]string{{"DaemonSet", "a", "1"}, {"Rollout", "a", "2"}}, false, [2]int32{}},
	}, func(t *testing.T, c test) {
		w := five("cpu=4")
		for k := range 4 {
			o := c.owners[k/2]
			w.pod(o[0], o[1], fmt.Sprint("p", k), fmt.Sprint("n", k+1), template("web", "cpu=1", nil)).OwnerReferences[0].UID = types.UID(o[2])
		}
		if c.leaves {
			w.objects.Pods[3].DeletionTimestamp = &metav1.Time{Time: testkit.Epoch}
		}
		w.budget("web", 0)
		w.objects.PodDisruptionBudgets[0].Spec.MinAvailable = &third
		p := w.planner(t)
		status := disruption.NewEvictions(p.pdbs).Sync(p.pods, p.scale, testkit.Epoch)[0].Status
		require.Equal(t, c.status, [2]int32{status.ExpectedPods, status.DesiredHealthy}, c.why)
	})
}

// A node that is emptied keeps its annotations and gets a mark, and the object of the snapshot stays as it is.
func TestCordoned(t *testing.T) {
	for _, defragment := range []v1.ResourceName{"", "cpu"} {
		for _, before := range []bool{false, true} {
			w := five("cpu=4")
			n := w.objects.Nodes[0]
			n.Annotations, n.Spec.Unschedulable = map[string]string{"owner": "x"}, before
			w.in.Defragment = defragment
			p := w.planner(t)
			c := p.cordoned(p.base.Slot("n1"))
			require.Equal(t, map[string]string{"owner": "x", emptied: ""}, c.Annotations)
			require.Equal(t, before || defragment == "", c.Spec.Unschedulable)
			require.Equal(t, map[string]string{"owner": "x"}, n.Annotations)
			require.Equal(t, before, n.Spec.Unschedulable)
		}
	}
}

// Pods go where nodes are fuller: n1 and n2 differ in one resource alone.
func TestPacksEveryResource(t *testing.T) {
	for _, more := range []string{"cpu=3,memory=1Gi,example.com/gpu=1", "cpu=1,memory=3Gi,example.com/gpu=1", "cpu=1,memory=1Gi,example.com/gpu=3"} {
		w := five("cpu=8,memory=8Gi,example.com/gpu=8")
		w.objects.Nodes = w.objects.Nodes[:3]
		w.app("some", "cpu=1,memory=1Gi,example.com/gpu=1", "n1", nil)
		w.app("more", more, "n2", nil)
		w.app("moves", "cpu=1,memory=1Gi,example.com/gpu=1", "n3", nil)
		w.in.HoldNode = func(n *v1.Node) string { return map[bool]string{true: "held"}[n.Name != "n3"] }
		require.Equal(t, []string{"0 moves-0 n3 n2", "remove n3 after 0"}, lines(w.plan(t, Options{})), more)
	}
}

// The filters of one search do not keep what they read of another snapshot.
func TestProfileOfEachSearch(t *testing.T) {
	p := five("cpu=4").planner(t)
	shared := slices.Clone(p.packing.Filters)
	k := slices.IndexFunc(shared, func(f *placement.Plugin) bool { return f.Name == "InterPodAffinity" })
	one := p.packs(&engine.Memo{})
	require.NotSame(t, shared[k], one.Filters[k])
	require.Equal(t, shared, p.packing.Filters)
}

// Parts of prices are computed without overflow and rounded up.
func TestPart(t *testing.T) {
	for _, c := range []struct{ used, offer, price, want int64 }{
		{0, 4, 10, 0}, {1, 4, 10, 3}, {2, 4, 10, 5}, {4, 4, 10, 10}, {1 << 40, 1 << 41, 1 << 40, 1 << 39}, {1 << 40, 1 << 41, 1<<40 + 1, 1<<39 + 1},
		{1<<62 - 2, 1<<62 - 1, 1<<62 - 1, 1<<62 - 2}, {1<<62 - 1, 1 << 62, 3, 3}, {math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64},
	} {
		require.Equal(t, c.want, part(c.used, c.offer, c.price), "%d * %d / %d", c.price, c.used, c.offer)
	}
	r := rand.New(rand.NewPCG(1, 59))
	for range 10000 {
		price, offer := r.Int64N(1<<r.IntN(63)), 1+r.Int64N(1<<r.IntN(63))
		used := r.Int64N(offer + 1)
		want := new(big.Int).Mul(big.NewInt(price), big.NewInt(used))
		want.Add(want, big.NewInt(offer-1)).Div(want, big.NewInt(offer))
		require.Equal(t, want.Int64(), part(used, offer, price), "%d * %d / %d", price, used, offer)
	}
}

// A pod without a controller holds its node, and its rules bind other moves. One that is being deleted does neither.
func TestPodThatLeaves(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		w := five("cpu=4")
		p := w.pod("", "", "bare", "n1", template("web", "cpu=1", spreadOver("web", v1.LabelTopologyZone)))
		if leaves {
			p.DeletionTimestamp = &metav1.Time{Time: testkit.Epoch}
		}
		require.Equal(t, leaves, len(w.plan(t, Options{}).Kept) == 0)
		require.Equal(t, leaves, len(w.planner(t).kinds) == 0)
	}
}
