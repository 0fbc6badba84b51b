package diagnose

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
)

// What relaxations say of pods that leave where one thing follows from another.
func TestLeaving(t *testing.T) {
	small := func(name string, priority int32) *v1.Pod {
		return testkit.Pod(name).On("n1").Labels("app=" + name[:1]).Request("cpu=1").Priority(priority).Obj()
	}
	pinned := func(name string, priority int32) *v1.Pod {
		p := small(name, priority)
		p.Spec.NodeSelector = map[string]string{v1.LabelHostname: "n1"}
		return p
	}
	places := []*v1.Node{ // n4 is in the zone of n2 and the rack of n3
		testkit.Node("n1").Zone("a").Label("rack", "1").Label("row", "1").Capacity("cpu=4").Obj(), testkit.Node("n2").Zone("c").Label("row", "1").Capacity("cpu=4").Obj(),
		testkit.Node("n3").Zone("d").Label("rack", "1").Capacity("cpu=4").Obj(), testkit.Node("n4").Zone("c").Label("rack", "1").Label("row", "2").Capacity("cpu=4").Obj(),
	}
	type test struct {
		name, why string
		nodes     []*v1.Node
		pods      []*v1.Pod
		budgets   []*policyv1.PodDisruptionBudget
		pod       *v1.Pod
		kinds     []Kind // beside those of pods that leave
		want      []string
	}
	testkit.Run(t, []test{
		{"a pod that has another node leaves for two that have none", "the first two answers let a pod go for good",
			[]*v1.Node{testkit.Node("n1").Capacity("cpu=3").Obj(), testkit.Node("n2").Capacity("cpu=1").Obj()},
			[]*v1.Pod{pinned("a", 0), pinned("b", 1), small("c", 2)}, nil, testkit.Pod("web").Request("cpu=1").NodeSelector(v1.LabelHostname + "=n1").Obj(), nil,
			[]string{"move default/c from n1 to n2", "remove default/a from n1"}},
		{"the second answer is the last that is tried for a pod that moves", "the first three answers let a pod go for good",
			[]*v1.Node{testkit.Node("n1").Capacity("cpu=4").Obj(), testkit.Node("n2").Capacity("cpu=1").Obj()},
			[]*v1.Pod{pinned("a", 0), pinned("b", 1), pinned("c", 2), small("d", 3)}, nil, testkit.Pod("web").Request("cpu=1").NodeSelector(v1.LabelHostname + "=n1").Obj(), nil,
			[]string{"remove default/a from n1"}},
		{"no other pod has a node", "every other answer lets a pod go for good too",
			[]*v1.Node{testkit.Node("n1").Capacity("cpu=2").Obj()},
			[]*v1.Pod{small("a", 0), small("b", 1)}, nil, testkit.Pod("web").Request("cpu=1").Obj(), nil,
			[]string{"remove default/a from n1"}},
		{"a pod that moves keeps what the pod needs", "the pod needs a neighbour in its zone, and the neighbour moves within the zone",
			[]*v1.Node{testkit.Node("n1").Zone("a").Capacity("cpu=2").Obj(), testkit.Node("n2").Zone("a").Capacity("cpu=1").Obj()},
			[]*v1.Pod{small("b", 0)}, nil, testkit.Pod("web").Request("cpu=2").RequireWith(zone, "app=b").Obj(), []Kind{Prefer},
			[]string{"move default/b from n1 to n2"}},
		{"a pod that is removed does not", "the neighbour has no other node",
			[]*v1.Node{testkit.Node("n1").Zone("a").Capacity("cpu=2").Obj(), testkit.Node("n2").Zone("a").Capacity("cpu=1").Obj()},
			[]*v1.Pod{pinned("b", 0)}, nil, testkit.Pod("web").Request("cpu=2").RequireWith(zone, "app=b").Obj(), []Kind{Prefer},
			[]string{"Pod default/web, made again: make spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0] a preference (topologyKey topology.kubernetes.io/zone); remove default/b from n1"}},
		{"a pod that moves keeps what the pod needs, and its budget rises", "the same, with a budget",
			[]*v1.Node{testkit.Node("n1").Zone("a").Capacity("cpu=2").Obj(), testkit.Node("n2").Zone("a").Capacity("cpu=1").Obj()},
			[]*v1.Pod{small("b", 0)}, []*policyv1.PodDisruptionBudget{budget("pdb", "b", 0)}, testkit.Pod("web").Request("cpu=2").RequireWith(zone, "app=b").Obj(), []Kind{Prefer},
			[]string{"PodDisruptionBudget default/pdb: spec.minAvailable from 1 to 0; move default/b from n1 to n2"}},
		{"a pod stays because another one does", "b calls the pod to the zone of n4, where it is not in the way of a any more",
			places, []*v1.Pod{
				testkit.Pod("a").On("n1").Labels("app=b").Request("cpu=4").Priority(2).Obj(),
				testkit.Pod("b").On("n2").Labels("app=b").Request("cpu=4").RequireApart("row", "app=b").Priority(1).Obj(),
				testkit.Pod("c").On("n3").Request("cpu=4").RequireApart("rack", "app=b").NodeSelector(zone + "=d").Obj(),
			}, nil, testkit.Pod("web").Labels("app=b").Request("cpu=4").RequireWith(zone, "app=b").Obj(), nil,
			[]string{"remove default/c from n3"}},
	}, func(t *testing.T, c test) {
		d := relax(t, cluster.Objects{Nodes: c.nodes, Pods: c.pods, PodDisruptionBudgets: c.budgets}, c.pod, Options{Cost: only(append(c.kinds, RemovePods, MovePods, RaiseBudget)...)})
		var have []string
		for _, r := range d.Relaxations {
			for i := range r.Changes {
				r.Changes[i].Alike = 0
			}
			have = append(have, r.Text())
		}
		require.Equal(t, c.want, slices.Compact(have))
	})
}

// A set without a protected pod has one answer: the order of the pods that stay depends on budgets only.
func TestOneAnswerWithoutBudgets(t *testing.T) {
	full := cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Capacity("cpu=3").Obj()}, Pods: []*v1.Pod{running("a", "n1", "cpu=1"), running("b", "n1", "cpu=1")}}
	for allowed, want := range map[int32]int{0: 2, 1: 1} {
		full.PodDisruptionBudgets = []*policyv1.PodDisruptionBudget{budget("pdb", "b", allowed)}
		d := begun(t, full, testkit.Pod("web").Request("cpu=2").Obj())
		d.list()
		for _, set := range []string{"changes of the pod", "pods that leave"} {
			c, answers := choice{place: -1, pod: 1}, 1
			if set == "pods that leave" {
				c, answers = choice{place: 0, node: 1}, want
				require.Equal(t, RemovePods, d.places[0].changes[0].Kind)
			}
			list := d.relaxations(c)
			require.Len(t, list, answers, "%s, the budget allows %d", set, allowed)
		}
	}
}

// No filter is asked when no slot is left.
func TestFitsStopsEarly(t *testing.T) {
	d := begun(t, cluster.Objects{Nodes: five()}, testkit.Pod("web").NodeSelector("no=node").Request("cpu=9").Obj())
	w := d.worlds[worldKey{place: -1}]
	require.False(t, d.fits(w, d.pod, newBits(5)))
	require.LessOrEqual(t, d.asks, 1)
	d.asks = 0
	require.False(t, d.fits(w, d.pod, w.target))
	require.Less(t, d.asks, len(w.filters))
}

// keeper is a predicate that says which pods keep the pod off slots.
type keeper struct {
	filter.Predicate
	keeps func(pod, q *v1.Pod, i, j int) bool
}

func (k keeper) KeepsOff(pod, q *v1.Pod, i, j int) bool { return k.keeps(pod, q, i, j) }

// A predicate says which pods of other nodes leave. It is asked about the pods of one kind as if they were on the node itself, once,
// and then about each of them where it is.
func TestKeepersOfOtherNodes(t *testing.T) {
	var pods []*v1.Pod
	for i := range 12 {
		pods = append(pods, running(fmt.Sprint([]string{"a", "b", "c"}[i%3], i), fmt.Sprint("n", 1+i%5), "cpu=100m"))
	}
	d := begun(t, cluster.Objects{Nodes: five(), Pods: pods}, testkit.Pod("web").Obj())
	own, near := d.base.Slot("n2"), map[string]int{}
	d.full = filter.Predicates{keeper{keeps: func(pod, q *v1.Pod, i, j int) bool {
		require.Same(t, d.pod, pod)
		require.Equal(t, own, i)
		require.NotEqual(t, "n2", q.Spec.NodeName, "the pods of the node leave without a question")
		if j == own {
			near[q.Labels["app"]]++
			return q.Labels["app"] != "a"
		}
		require.Equal(t, d.base.Slot(q.Spec.NodeName), j)
		require.NotEqual(t, "a", q.Labels["app"], "pods of this kind do not keep the pod off even when they are near")
		return q.Labels["app"] == "b" && q.Spec.NodeName != "n5"
	}}}
	var want, have []string
	for _, p := range pods {
		if p.Spec.NodeName == "n2" || p.Labels["app"] == "b" && p.Spec.NodeName != "n5" {
			want = append(want, p.Name)
		}
	}
	for _, p := range d.removal(own, 0)[0].remove {
		have = append(have, p.Name)
	}
	require.ElementsMatch(t, want, have)
	for app, n := range near {
		require.Equal(t, 1, n, app)
	}
}

// A removal has at most 128 pods.
func TestMostRemoved(t *testing.T) {
	for n, want := range map[int]int{127: 127, 128: 128, 129: 128, 140: 128} {
		o := cluster.Objects{Nodes: five()[:1]}
		for i := range n {
			o.Pods = append(o.Pods, running(fmt.Sprint("a", i), "n1", "cpu=1m"))
		}
		d := begun(t, o, testkit.Pod("web").Obj())
		require.Len(t, d.removal(0, 0)[0].remove, want)
	}
}
