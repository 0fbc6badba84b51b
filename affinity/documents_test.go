package affinity_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/resources"
)

// The worked examples of the documentation chapter "Assigning Pods to Nodes", by their names there.

const (
	zoneKey = "topology.kubernetes.io/zone"
	hostKey = "kubernetes.io/hostname"
)

func TestWithNodeAffinity(t *testing.T) {
	p := requiring(terms(exprs(req(zoneKey, "In", "antarctica-east1", "antarctica-west1"))))
	p.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []v1.PreferredSchedulingTerm{
		prefer(1, req("another-node-label-key", "In", "another-node-label-value"))}
	w := newWorld(node("east", zoneKey+"=antarctica-east1"),
		node("west", zoneKey+"=antarctica-west1,another-node-label-key=another-node-label-value"),
		node("south", zoneKey+"=antarctica-south1,another-node-label-key=another-node-label-value"))
	s := compileNode(t, p, nil).Onto(w)
	require.Equal(t, []resources.Verdict{0, 0, affinity.NodeMismatch}, []resources.Verdict{s.Check(0), s.Check(1), s.Check(2)})
	_, score := nodeScores(s, 2)
	require.Equal(t, []int64{0, 100}, score)
}

func TestNodeAffinityWeight(t *testing.T) {
	p := requiring(terms(exprs(req("kubernetes.io/os", "In", "linux"))))
	p.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []v1.PreferredSchedulingTerm{
		prefer(1, req("label-1", "In", "key-1")), prefer(50, req("label-2", "In", "key-2"))}
	w := newWorld(node("node1", "kubernetes.io/os=linux,label-1=key-1"), node("node2", "kubernetes.io/os=linux,label-2=key-2"),
		node("node3", "kubernetes.io/os=linux"))
	s := compileNode(t, p, nil).Onto(w)
	raw, score := nodeScores(s, 3)
	require.Equal(t, []int64{1, 50, 0}, raw)
	require.Equal(t, []int64{2, 100, 0}, score)
}

func TestFooScheduler(t *testing.T) {
	added := &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms(exprs(req("scheduler-profile", "In", "foo")))}
	w := newWorld(node("foo", "scheduler-profile=foo,disk=ssd"), node("foo-hdd", "scheduler-profile=foo"), node("other", "disk=ssd"))
	p := &v1.Pod{Spec: v1.PodSpec{SchedulerName: "foo-scheduler", NodeSelector: map[string]string{"disk": "ssd"}}}
	s := compileNode(t, p, added).Onto(w)
	require.Equal(t, []resources.Verdict{0, affinity.NodeMismatch, affinity.NodeEnforced}, []resources.Verdict{s.Check(0), s.Check(1), s.Check(2)})
	s = compileNode(t, p, nil).Onto(w)
	require.Equal(t, []resources.Verdict{0, affinity.NodeMismatch, 0}, []resources.Verdict{s.Check(0), s.Check(1), s.Check(2)}, "the default profile adds no terms")
	require.True(t, affinity.MatchNode(p, w.nodes[2]), "the kubelet does not see what a profile adds")
}

// TestSecurityZones is the example with-pod-affinity: zone V runs S1, zone R runs S2 and, in the second part, S1 too.
func TestSecurityZones(t *testing.T) {
	for _, key := range []string{zoneKey, "failure-domain.beta.kubernetes.io/zone"} { // the key of the older edition, literally
		p := pod("default", "", "aff "+key+" security=S1", "panti 100 "+key+" security=S2")
		w := newWorld(node("v1", key+"=V"), node("v2", key+"=V"), node("r1", key+"=R"), node("none", "")).
			run("v1", pod("default", "security=S1")).run("r1", pod("default", "security=S2"))
		require.Equal(t, "v1:ok v2:ok r1:affinity none:affinity", verdicts(w, count(w, p, affinity.PodOptions{}).Check))
		w.run("r1", pod("default", "security=S1"))
		s := count(w, p, affinity.PodOptions{})
		require.Equal(t, "v1:ok v2:ok r1:ok none:affinity", verdicts(w, s.Check))
		raw := raws(s, 3)
		require.Equal(t, []int64{0, 0, -100}, raw)
		s.NormalizeAll(raw)
		require.Equal(t, []int64{100, 100, 0}, raw)
	}
	w := newWorld(node("v1", zoneKey+"=V")).run("v1", pod("default", "security=S1"))
	p := pod("default", "", "aff failure-domain.beta.kubernetes.io/zone security=S1")
	require.Equal(t, "v1:affinity", verdicts(w, count(w, p, affinity.PodOptions{}).Check), "deprecated keys are no aliases")
}

// TestRedisAndWeb schedules three replicas of redis-cache and then of web-server on three nodes, one pod at a time.
func TestRedisAndWeb(t *testing.T) {
	cache := pod("default", "app=store", "anti "+hostKey+" app=store")
	web := pod("default", "app=web-store", "anti "+hostKey+" app=web-store", "aff "+hostKey+" app=store")
	w := newWorld(node("node-1", hostKey+"=node-1"), node("node-2", hostKey+"=node-2"), node("node-3", hostKey+"=node-3"))

	require.Equal(t, "node-1:affinity node-2:affinity node-3:affinity", verdicts(w, count(w, web, affinity.PodOptions{}).Check), "web before any cache")
	place := func(p *v1.Pod) {
		t.Helper()
		s := count(w, p, affinity.PodOptions{})
		for i, n := range w.nodes {
			if s.Check(i) == 0 {
				w.run(n.Name, p)
				return
			}
		}
		t.Fatal("no node")
	}
	for range 3 {
		place(cache)
	}
	require.Equal(t, "node-1:anti node-2:anti node-3:anti", verdicts(w, count(w, cache, affinity.PodOptions{}).Check), "a fourth cache")
	for range 3 {
		place(web)
	}
	require.Equal(t, "node-1:anti node-2:anti node-3:anti", verdicts(w, count(w, web, affinity.PodOptions{}).Check), "a fourth web server")
	for i := range w.nodes {
		require.Len(t, w.pods[i], 2)
		require.Equal(t, []string{"store", "web-store"}, []string{w.pods[i][0].Labels["app"], w.pods[i][1].Labels["app"]})
	}

	mixed := newWorld(w.nodes...).run("node-1", cache, web).run("node-2", cache)
	s := count(mixed, web, affinity.PodOptions{})
	require.Equal(t, "node-1:anti node-2:ok node-3:affinity", verdicts(mixed, s.Check))
	require.Zero(t, s.Check(0)&resources.Unresolvable, "preemption may help against anti-affinity")
	require.NotZero(t, s.Check(2)&resources.Unresolvable, "but never against affinity")
	require.Equal(t, []string{"node(s) didn't match pod anti-affinity rules"}, s.Reasons(s.Check(0)))
	require.Equal(t, []string{"node(s) didn't match pod affinity rules"}, s.Reasons(s.Check(2)))
	require.Equal(t, []string{"node(s) didn't satisfy existing pods anti-affinity rules"}, s.Reasons(affinity.ExistingAntiAffinity))
	require.Empty(t, s.Reasons(0))
}
