package rollout

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/score"
)

// packing is the default profile with a score that fills nodes, with or without the score of taints, by which pods prefer new nodes.
func packing(t *testing.T, taints bool) placement.Profile {
	full, err := placement.PluginArgs{NodeResourcesFit: placement.FitOptions{Args: score.FitArgs{ScoringStrategy: &score.Strategy{
		Type: "MostAllocated", Resources: []score.Resource{{Name: "cpu", Weight: 1}},
	}}}}.Plugin("NodeResourcesFit")
	require.NoError(t, err)
	p := placement.DefaultProfile()
	p.Sampling = placement.AllNodes()
	p.Scores = []placement.Weighted{{Plugin: full, Weight: 1}}
	if taints {
		of, err := placement.PluginArgs{}.Plugin("TaintToleration")
		require.NoError(t, err)
		p.Scores = append(p.Scores, placement.Weighted{Plugin: of, Weight: 3})
	}
	return p
}

// Pods prefer new nodes, so that few pods move twice. Every pod moves once at least, and the pods of the first node have only old
// nodes to go to. A profile that ignores the taint of old nodes lets more pods move twice.
func TestFewestMoves(t *testing.T) {
	w := &world{in: Input{Now: testkit.Epoch}}
	for i := range 8 {
		w.objects.Nodes = append(w.objects.Nodes, testkit.Node(fmt.Sprintf("n%d", i)).Zone("a").Capacity("cpu=8").Obj())
	}
	w.app("web", "cpu=1", "n0 n0 n1 n1 n2 n2 n3 n3 n4 n4 n5 n5 n6 n6 n7 n7", nil)
	evictions := func(profile placement.Profile) (n, again int) {
		w.in.Profile = profile
		p := w.plan(t, Options{})
		require.True(t, p.Complete())
		return p.Evictions, len(p.Again)
	}
	n, again := evictions(packing(t, true))
	require.Equal(t, []int{18, 2}, []int{n, again}, "16 pods, and the two of the first node a second time")
	n, again = evictions(packing(t, false))
	require.Greater(t, n, 18)
	require.Greater(t, again, 2)
	w = five("cpu=4")
	w.app("web", "cpu=1", "n1 n2 n3 n4 n5", nil)
	p := w.plan(t, Options{Surge: 1, KeepSurge: true, Nodes: []string{"n1", "n2", "n3", "n4", "n5"}})
	require.Equal(t, []int{5, 0}, []int{p.Evictions, len(p.Again)}, "a surge node that stays: every pod moves once")
}

// Budgets and spread are reported for each step: what a budget allows when the step begins, the fewest healthy pods, and the skew at
// the end of the step.
func TestEveryStep(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n1 n3", func(s *v1.PodSpec) {
		spreadOver("web", zone)(s)
		s.TopologySpreadConstraints[0].MaxSkew = 2
		soft := s.TopologySpreadConstraints[0]
		soft.TopologyKey, soft.WhenUnsatisfiable, soft.MaxSkew = host, v1.ScheduleAnyway, 1
		s.TopologySpreadConstraints = append(s.TopologySpreadConstraints, soft)
	})
	w.app("db", "cpu=1", "n3 n4", nil)
	w.budget("web", "web", "max 1")
	w.budget("db", "db", "max 2")
	p := w.plan(t, given("n1", "n3"))
	require.Equal(t, []string{
		"0s replace n1 until 4s",
		"  0s..2s: web-0 -> web-0-moved-1 n5@0s",
		"  2s..4s: web-1 -> web-1-moved-1 n2@2s",
		"4s replace n3 until 6s",
		"  4s..6s: db-0 -> db-0-moved-1 n1@4s, web-2 -> web-2-moved-1 n1@4s",
	}, lines(p))
	require.Equal(t, []Room{{"default/web", 2, 1, 2}}, p.Steps[0].Budgets)
	require.Equal(t, []Room{{"default/db", 0, 2, 1}, {"default/web", 2, 1, 2}}, p.Steps[1].Budgets)
	require.Equal(t, []Skew{{"ReplicaSet default/web", host, 1, 1, false}, {"ReplicaSet default/web", zone, 0, 2, true}}, p.Steps[0].Skews)
	require.Equal(t, []Skew{{"ReplicaSet default/web", host, 1, 1, false}, {"ReplicaSet default/web", zone, 2, 2, true}}, p.Steps[1].Skews)
}

// The caller says which pods must not be evicted, and why. Without the caller's function only the annotation pins pods.
func TestPins(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n2 n3", nil)
	w.objects.Pods[1].Annotations = map[string]string{SafeToEvict: "False"}
	w.objects.Pods[2].Annotations = map[string]string{SafeToEvict: "true"}
	require.Equal(t, []string{"n2: pinned: default/web-1"}, lines(w.plan(t, given("n2"))))
	require.True(t, w.plan(t, given("n3")).Complete())
	o := given("n1", "n2")
	o.Pinned = func(pod *v1.Pod) string {
		if pod.Name == "web-0" {
			return "web-0 holds the lock"
		}
		return ""
	}
	o.Remedies = 1
	p := w.plan(t, o)
	require.Equal(t, []string{
		"0s replace n2 until 2s",
		"  0s..2s: web-1 -> web-1-moved-1 n5@0s",
		"n1: pinned: default/web-0",
	}, lines(p))
	require.Equal(t, "web-0 holds the lock", p.Blocked[0].Proof)
	require.Equal(t, []string{"evict default/web-0 all the same"}, remedied(p.Blocked[0].Remedies))
}

// A batch that takes longer than the time-out is taken back, and its nodes are drained one after the other, each with the whole time.
// A drain that ends exactly at the time-out is not late.
func TestTimeout(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=500m", "n1 n1 n2", nil)
	w.budget("web", "web", "max 1")
	plan := func(timeout time.Duration) []string {
		return lines(w.plan(t, Options{Nodes: []string{"n1", "n2"}, Order: Given, Batch: 2, Timeout: timeout}))
	}
	together := []string{
		"0s replace n1 n2 until 6s",
		"  0s..2s: web-0 -> web-0-moved-1 n3@0s",
		"  2s..4s: web-1 -> web-1-moved-1 n5@2s",
		"  4s..6s: web-2 -> web-2-moved-1 n4@4s",
	}
	require.Equal(t, together, plan(0))
	require.Equal(t, together, plan(6*time.Second))
	require.Equal(t, []string{
		"0s replace n1 until 4s",
		"  0s..2s: web-0 -> web-0-moved-1 n3@0s",
		"  2s..4s: web-1 -> web-1-moved-1 n5@2s",
		"4s replace n2 until 6s",
		"  4s..6s: web-2 -> web-2-moved-1 n1@4s",
	}, plan(6*time.Second-1))
	require.Equal(t, []string{"n1: timeout: default/web-0 default/web-1", "n2: timeout: default/web-2"}, plan(2*time.Second-1))
}

// Pods that are replaced when they are gone leave by the time that they take. A pod whose replacement finds no node then does not
// hold the others back, and the budgets of the others are charged once.
func TestLatePods(t *testing.T) {
	w := five("cpu=4")
	grace := func(seconds int64) func(*v1.PodSpec) {
		return func(s *v1.PodSpec) { s.TerminationGracePeriodSeconds = &seconds }
	}
	w.stateful("db", "cpu=1", "n1", appsv1.ParallelPodManagement, grace(3))
	w.stateful("kv", "cpu=1", "n1", appsv1.ParallelPodManagement, grace(1))
	w.budget("kv", "kv", "max 1")
	require.Equal(t, []string{
		"0s replace n1 until 3s",
		"  0s..3s: kv-0 -> kv-0 n3@1s, db-0 -> db-0 n5@3s",
	}, lines(w.plan(t, given("n1"))))
	w.stateful("big", "cpu=2", "n1", appsv1.ParallelPodManagement, grace(2))
	w.app("half", "cpu=3", "n2 n3 n4 n5", nil)
	require.Equal(t, []string{"n1: no-room: default/big-0"}, lines(w.plan(t, given("n1"))))
}

// A batch that is taken back leaves every pod where it was, also pods that are gone at once.
func TestTakenBack(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n2 n3 n4", apart("web", host))
	o := given("n1", "n2")
	o.Batch, o.Stop = 2, func(*v1.Pod) time.Duration { return 0 }
	require.Equal(t, []string{
		"0s replace n1 until 0s",
		"  0s..0s: web-0 -> web-0-moved-1 n5@0s",
		"0s replace n2 until 0s",
		"  0s..0s: web-1 -> web-1-moved-1 n1@0s",
	}, lines(w.plan(t, o)))
}

// What the Eviction API says about a pod is in the deadlock, and surge nodes that are there count in a remedy.
func TestTextsOfDeadlocks(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n2", nil)
	w.budget("web", "web", "2")
	require.Equal(t, "Cannot evict pod as it would violate the pod's disruption budget. The disruption budget web needs 2 healthy pods and has 2 currently",
		w.plan(t, given("n1")).Blocked[0].Message)

	w = five("cpu=4")
	w.app("big", "cpu=3", "n1 n1", nil)
	w.objects.Pods[0].Spec.Containers[0].Resources.Requests = testkit.Resources("cpu=1")
	w.app("half", "cpu=2", "n2 n3 n4 n5", nil)
	o := given("n1")
	o.Surge, o.Remedies, o.KeepSurge = 1, 8, true
	require.Equal(t, []string{"2 surge nodes like n1"}, remedied(w.plan(t, o).Blocked[0].Remedies))
}

// When the API server refuses a workload's new pods, a replica more changes nothing, and the plan goes on.
func TestRemedyThatTheServerRefuses(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n2", nil).Spec.Template.Spec.PriorityClassName = "none"
	w.budget("web", "web", "2")
	o := given("n1")
	o.Remedies = 8
	require.Equal(t, []Remedy{
		{"minAvailable 1 in place of 2 in budget default/web", false},
		{"one replica more of ReplicaSet default/web (3)", false},
	}, w.plan(t, o).Blocked[0].Remedies)
}

// A surge node is another node than the one that it is like. Pods without a node count in no domain.
func TestSurgeNodeAndSkewOfPending(t *testing.T) {
	w := five("cpu=4")
	w.objects.Nodes[0].UID = "uid-n1"
	w.app("web", "cpu=1", "n1 n3 n5", spreadOver("web", zone))
	*w.objects.ReplicaSets[0].Spec.Replicas = 4
	w.pod("ReplicaSet", "web", "web-waits", "", template("web", "cpu=9", spreadOver("web", zone)))
	p := w.planner(t)
	x := p.begin(p.complete(Options{Surge: 1}))
	require.Empty(t, x.surged(1).UID)
	u := x.unitOf(w.objects.Pods[0])
	require.Equal(t, 0, x.skew(u, zone))
	require.Equal(t, 0, x.skew(u, "rack"), "no node has a rack")
	delete(w.objects.Nodes[4].Labels, zone)
	x = w.begun(t, Options{})
	u = x.unitOf(w.objects.Pods[0])
	require.Equal(t, 0, x.skew(u, zone), "the pod on n5 is in no zone")
	x.ofUnit[u][0].seen.DeletionTimestamp = &metav1.Time{Time: testkit.Epoch}
	require.Equal(t, 1, x.skew(u, zone), "a terminating pod does not count")
}

// Skews are ordered by workload and key. Each workload is named once, and pods without a controller have none.
func TestOrderOfSkews(t *testing.T) {
	w := five("cpu=4")
	two := func(s *v1.PodSpec) {
		spreadOver("x", zone)(s)
		s.TopologySpreadConstraints = append(s.TopologySpreadConstraints, s.TopologySpreadConstraints[0])
		s.TopologySpreadConstraints[1].TopologyKey = host
	}
	w.app("b", "cpu=1", "n1 n1", two)
	w.app("a", "cpu=1", "n1", two)
	w.pod("", "", "bare", "n1", template("bare", "cpu=1", two))
	x := w.begun(t, Options{})
	var got []string
	for _, s := range x.skews(x.onNode["n1"]) {
		got = append(got, s.Workload+" "+s.Key)
	}
	require.Equal(t, []string{"ReplicaSet default/a " + host, "ReplicaSet default/a " + zone, "ReplicaSet default/b " + host, "ReplicaSet default/b " + zone}, got)
}

// Of the pods that moved more than once, those with most moves come first.
func TestOrderOfJourneys(t *testing.T) {
	x := five("cpu=4").begun(t, Options{})
	for _, name := range []string{"c", "b", "a", "once"} {
		it := &item{origin: testkit.Pod(name).Obj(), moves: 2, path: []string{"n1", "n2", "n3"}}
		if name == "c" {
			it.moves, it.path = 3, append(it.path, "n4")
		}
		if name == "once" {
			it.moves = 1
		}
		x.onNode["n1"] = append(x.onNode["n1"], it)
	}
	x.finish()
	var got []string
	for _, j := range x.plan.Again {
		got = append(got, j.Pod)
	}
	require.Equal(t, []string{"default/c", "default/a", "default/b"}, got)
}
