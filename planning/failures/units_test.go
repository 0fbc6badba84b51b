package failures

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// The pods of each kind of controller come back from its template: with two cores in place of one.
func TestTemplates(t *testing.T) {
	labels := map[string]string{"app": "x"}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	meta := metav1.ObjectMeta{Namespace: "default", Name: "x"}
	template := func(cpu string) v1.PodTemplateSpec {
		return v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: v1.PodSpec{Containers: []v1.Container{{
			Name: "c", Resources: v1.ResourceRequirements{Requests: testkit.Resources("cpu=" + cpu)},
		}}}}
	}
	two := template("2")
	testkit.Run(t, []struct {
		name, kind, owner, pod string
		add                    func(w *world)
	}{
		{"ReplicaSet", "ReplicaSet", "x", "x-0", func(w *world) {
			w.objects.ReplicaSets = []*appsv1.ReplicaSet{{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: two}}}
		}},
		{"ReplicationController", "ReplicationController", "x", "x-0", func(w *world) {
			w.objects.ReplicationControllers = []*v1.ReplicationController{{ObjectMeta: meta, Spec: v1.ReplicationControllerSpec{Selector: labels, Template: &two}}}
		}},
		{"Deployment without its ReplicaSet", "ReplicaSet", "x-abc", "x-0", func(w *world) {
			w.objects.Pods[0].Labels = map[string]string{"app": "x", appsv1.DefaultDeploymentUniqueLabelKey: "abc"}
			w.in.Deployments = []*appsv1.Deployment{{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Selector: selector, Template: two}}}
		}},
		{"StatefulSet from ordinal 7", "StatefulSet", "x", "x-7", func(w *world) {
			w.objects.StatefulSets = []*appsv1.StatefulSet{{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: two, Ordinals: &appsv1.StatefulSetOrdinals{Start: 7}}}}
		}},
		{"Job", "Job", "x", "x-0", func(w *world) {
			w.in.Jobs = []*batchv1.Job{{ObjectMeta: meta, Spec: batchv1.JobSpec{Template: two}}}
		}},
	}, func(t *testing.T, c struct {
		name, kind, owner, pod string
		add                    func(w *world)
	}) {
		w := five("cpu=4")
		w.pod(c.kind, c.owner, c.pod, "n1", template("1"))
		c.add(w)
		r := w.run(t, "n1")
		require.Equal(t, []string{c.pod + " n1 Placed n2"}, lines(r))
		require.Equal(t, Resource{v1.ResourceCPU, 16000, 2000}, r.Left[0])
	})
}

// A ReplicaSet of no Deployment of the input, and a pod whose hash names no Deployment, are workloads of their own.
func TestUnknownDeployment(t *testing.T) {
	w := five("cpu=4")
	r := w.app("web-abc", "cpu=1", "n1", nil)
	r.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", Controller: ptr(true)}}
	w.pod("ReplicaSet", "api-abc", "api-abc-0", "n1", v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: "abc"}}})
	w.pod("ReplicaSet", "old", "old-0", "n1", v1.PodTemplateSpec{})
	var got []string
	for _, x := range w.run(t, "n1").Workloads {
		got = append(got, fmt.Sprint(x.Kind, " ", x.Name, " ", x.Replicas))
	}
	require.Equal(t, []string{"ReplicaSet api-abc 1", "ReplicaSet old 1", "ReplicaSet web-abc 1"}, got)
}

// A volume of a StatefulSet that begins with ordinal 1 stays bound: the claim is found, and no new claim is made.
func TestClaimsOfOrdinals(t *testing.T) {
	w := five("cpu=4")
	w.stateful("db", "n1 n5", appsv1.ParallelPodManagement)
	s := w.objects.StatefulSets[0]
	s.Spec.Ordinals, s.Spec.Replicas = &appsv1.StatefulSetOrdinals{Start: 1}, ptr(int32(1))
	w.objects.Pods = w.objects.Pods[1:]
	require.Equal(t, Volumes, w.run(t, "n5").Groups[0].Cause)
}

// The pods of a DaemonSet and static pods are no workload that lacks pods.
func TestTiedWorkloads(t *testing.T) {
	w := five("cpu=4")
	w.pod("DaemonSet", "agent", "agent-1", "n1", v1.PodTemplateSpec{})
	w.pod("Node", "n1", "proxy-n1", "n1", v1.PodTemplateSpec{}).Annotations = map[string]string{v1.MirrorPodAnnotationKey: "x"}
	r := w.run(t, "n1")
	require.Empty(t, r.Workloads)
	require.Equal(t, 2, r.Tied)
}

// A node more gets a name and a hostname that no other node has.
func TestNamesOfMoreNodes(t *testing.T) {
	w := five("cpu=4")
	w.objects.Nodes = w.objects.Nodes[:2]
	for i, name := range []string{"n1-more", "n1"} {
		w.objects.Nodes[i].Name, w.objects.Nodes[i].UID = name, "uid"
		w.objects.Nodes[i].Labels[v1.LabelHostname] = name
	}
	w.objects.Nodes[0].Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}}
	p := w.planner(t)
	var got []string
	for _, r := range p.moreNodes(nil) {
		in := p.in
		in.Snapshot = p.base.Fork()
		r.change(&in)
		n := in.Snapshot.Node(2)
		require.Empty(t, n.UID)
		got = append(got, fmt.Sprint(r.text, ": ", n.Name, " ", n.Labels[v1.LabelHostname], " ", len(n.Spec.Taints)))
	}
	require.Equal(t, []string{
		"one more node like n1 (there are 1): n1-more-more n1-more-more 0",
		"one more node like n1-more (there are 1): n1-more-more n1-more-more 1",
	}, got)
}

// Workloads with remedies: with most pods first, then in the order of controllers. One replica may become none; a Job and an
// unknown controller have no replicas to give.
func TestStuck(t *testing.T) {
	w := five("cpu=4")
	w.app("full", "cpu=4", "n2 n3 n4 n5", nil)
	w.app("b", "cpu=1", "n1", nil)
	w.app("a", "cpu=1", "n1", nil)
	w.app("two", "cpu=500m", "n1 n1", nil)
	w.pod("Rollout", "unknown", "unknown-0", "n1", w.objects.ReplicaSets[1].Spec.Template)
	h, err := w.planner(t).Headroom(Search{Remedies: 20})
	require.NoError(t, err)
	var got []string
	for _, r := range h.Remedies {
		if r.Kind == "replicas" {
			got = append(got, r.Text)
		}
	}
	require.Equal(t, "one replica fewer of ReplicaSet default/full (3 of 4)", got[0])
	require.True(t, slices.Contains(got, "one replica fewer of ReplicaSet default/two (1 of 2)"))
	a := slices.Index(got, "one replica fewer of ReplicaSet default/a (0 of 1)")
	b := slices.Index(got, "one replica fewer of ReplicaSet default/b (0 of 1)")
	require.Equal(t, a+1, b, "equal in pods: in the order of controllers")
	require.Len(t, got, 4)
}

// Orders of re-creation are the same in every release.
func TestSeededOrders(t *testing.T) {
	w := five("cpu=2")
	w.app("full", "cpu=2", "n2 n3 n4", nil)
	w.app("large", "cpu=2", "n1", nil)
	w.app("small", "cpu=1", "n1 n1", nil)
	w.objects.Nodes[0].Status.Allocatable[v1.ResourceCPU] = testkit.Resources("cpu=4")[v1.ResourceCPU]
	p := w.planner(t)
	var got []int
	for seed := range uint64(12) {
		r, err := p.Run([]Scenario{{"test", []string{"n1"}}}, Options{Orders: 1, Seed: seed})
		require.NoError(t, err)
		got = append(got, r[0].Bounds.Fewest)
	}
	require.Equal(t, []int{1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2}, got)
}

// Worst sorts by each of its criteria in turn.
func TestWorst(t *testing.T) {
	list := []Result{
		{Scenario: Scenario{Name: "f"}}, {Scenario: Scenario{Name: "e"}}, {Scenario: Scenario{Name: "z"}, Pods: make([]Outcome, 1)},
		{Scenario: Scenario{Name: "y"}, Budgets: make([]Budget, 1)}, {Scenario: Scenario{Name: "x"}, Displaced: 1},
		{Scenario: Scenario{Name: "more"}, Displaced: 2}, {Scenario: Scenario{Name: "two"}, Budgets: make([]Budget, 2)},
		{Scenario: Scenario{Name: "w"}, Waiting: 1}, {Scenario: Scenario{Name: "v"}, Pending: 1, Waiting: 1},
	}
	Worst(list)
	var got []string
	for _, r := range list {
		got = append(got, r.Name)
	}
	require.Equal(t, []string{"v", "w", "more", "x", "two", "y", "z", "e", "f"}, got)
}

// Of two victims, preemption takes the one that no budget protects, until the other's budget has a pod to spare.
func TestPreemptionAsksBudgets(t *testing.T) {
	w := five("cpu=1")
	w.class("high", 1000)
	w.app("guarded", "cpu=1", "n2", nil)
	w.app("free", "cpu=1", "n3", nil)
	w.app("full", "cpu=1", "n4 n5", classed("high"))
	w.app("web", "cpu=1", "n1", classed("high"))
	require.Equal(t, "n2", w.run(t, "n1").Pods[0].Node)
	w.budget("guarded", "guarded", 1)
	require.Equal(t, "n3", w.run(t, "n1").Pods[0].Node)
	w.objects.PodDisruptionBudgets[0].Spec.MinAvailable = ptr(intstr.FromInt32(0))
	require.Equal(t, "n2", w.run(t, "n1").Pods[0].Node)
}

// An error of a plugin keeps the pod pending.
func TestBrokenPlugin(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1", nil)
	w.in.Profile.Filters = []*placement.Plugin{{Name: "Broken", Filter: func(*v1.Pod, placement.Cluster) placement.PreFiltered {
		return placement.PreFiltered{Code: filter.Error, Reasons: []string{"is broken"}}
	}}}
	g := w.run(t, "n1").Groups[0]
	require.Equal(t, Other, g.Cause)
	require.Contains(t, g.Reason, "is broken")
	require.Equal(t, g.Message, g.Reason)
}

// A plugin that gives two reasons equally often is quoted with the same reason every time.
func TestReasonsEquallyOften(t *testing.T) {
	w := five("cpu=4,memory=1Gi")
	for _, n := range w.objects.Nodes[3:] {
		n.Status.Allocatable = testkit.Resources("cpu=1,memory=4Gi,pods=10")
	}
	w.objects.Nodes[0].Status.Allocatable = testkit.Resources("cpu=4,memory=4Gi,pods=10")
	w.app("web", "cpu=2,memory=2Gi", "n1", nil)
	for range 20 {
		require.Equal(t, "Insufficient cpu", w.run(t, "n1").Groups[0].Reason)
	}
}

// A pod that came back is displaced by a pod of a higher priority that had to wait for the cache.
func TestDisplacedAfterItCameBack(t *testing.T) {
	w := five("cpu=2")
	w.class("high", 1000)
	w.app("full", "cpu=2", "n1 n2 n3", classed("high"))
	w.app("cache", "cpu=1", "n5", classed("high"))
	w.app("filler", "cpu=1", "n5", nil)
	w.app("app", "cpu=1", "n5", func(s *v1.PodSpec) { beside("cache", v1.LabelHostname)(s); s.PriorityClassName = "high" })
	w.budget("filler", "filler", 1)
	r, err := w.planner(t).Run([]Scenario{{"test", []string{"n5"}}}, Options{Until: time.Hour})
	require.NoError(t, err)
	require.Equal(t, []Budget{{Name: "default/filler", Minimum: 1, Before: 1, Lost: 0, After: 0}}, r[0].Budgets)
	require.Equal(t, []string{"app-0 n5 Placed n4", "cache-0 n5 Placed n4", "filler-0 n5 Pending displaced by default/app-0",
		"ReplicaSet default/filler: default/filler-0: resources: NodeResourcesFit 4/4: Insufficient cpu"}, lines(r[0]))
	require.Equal(t, []int{2, 1, 1}, []int{r[0].Placed, r[0].Pending, r[0].Displaced})
}

// A terminating pod of an unknown controller does not come back beside its sister, and a pod that comes back as it was is not
// admitted again.
func TestUnknownController(t *testing.T) {
	w := five("cpu=4")
	w.pod("Rollout", "web", "web-1", "n1", v1.PodTemplateSpec{}).DeletionTimestamp = &metav1.Time{Time: testkit.Epoch}
	w.pod("Rollout", "web", "web-2", "n1", v1.PodTemplateSpec{Spec: v1.PodSpec{PriorityClassName: "gone"}})
	require.Equal(t, []string{"web-1 n1 Gone", "web-2 n1 Placed n2"}, lines(w.run(t, "n1")))

	w = five("cpu=4")
	for i := range 5 {
		p := w.pod("Rollout", "web", fmt.Sprintf("web-%d", i), fmt.Sprintf("n%d", i+1), v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}})
		apart("web", v1.LabelHostname)(&p.Spec)
	}
	h, err := w.planner(t).Headroom(Search{Remedies: 9})
	require.NoError(t, err)
	for _, r := range h.Remedies {
		require.Equal(t, "node", r.Kind, "replicas and template are not known")
	}
}

// Foreign pods are counted, and results without Options.Orders have no bounds.
func TestForeign(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1", func(s *v1.PodSpec) { s.SchedulerName = "other" })
	r := w.run(t, "n1")
	require.Equal(t, 1, r.Foreign)
	require.Nil(t, r.Bounds)
}

// Workloads that had too few pods before, and have no fewer now, are not below because of the failure.
func TestBelowBefore(t *testing.T) {
	w := five("cpu=1")
	w.class("high", 1000)
	w.app("web", "cpu=1", "n1", classed("high"))
	w.app("full", "cpu=1", "n4 n5", classed("high"))
	w.app("batch", "cpu=1", "n2", nil)
	w.objects.ReplicaSets[2].Spec.Replicas = ptr(int32(7))
	w.app("leaving", "cpu=1", "n1", nil).Spec.Replicas = ptr(int32(7))
	w.objects.Pods[len(w.objects.Pods)-1].DeletionTimestamp = &metav1.Time{Time: testkit.Epoch}
	w.objects.Nodes[2].Spec.Taints = []v1.Taint{{Key: "batch", Effect: v1.TaintEffectNoSchedule}}
	w.objects.ReplicaSets[2].Spec.Template.Spec.Tolerations = []v1.Toleration{{Key: "batch", Operator: v1.TolerationOpExists}}
	r := w.run(t, "n1")
	require.Equal(t, []string{"leaving-0 n1 Gone", "web-0 n1 Placed n2", "batch-0 n2 Placed n3 displaced by default/web-0"}, lines(r))
	require.Len(t, r.Workloads, 1)
	require.Equal(t, "web", r.Workloads[0].Name)
}

// As many pairs of large nodes as the limit allows.
func TestLargestPairs(t *testing.T) {
	p := five("cpu=4").planner(t)
	for limit := range 12 {
		require.Len(t, p.LargestPairs(limit), min(limit, 10))
		require.Len(t, p.Pairs(limit, 1), min(limit, 10))
	}
}

// A budget that protects a pod protects it from the second preemption too.
func TestSecondPreemptionAsksBudgets(t *testing.T) {
	w := five("cpu=1")
	w.class("high", 1000)
	w.app("guarded", "cpu=1", "n2", nil)
	w.app("free", "cpu=1", "n3 n4", nil)
	w.app("full", "cpu=1", "n5", classed("high"))
	w.app("web", "cpu=500m", "n1 n1", func(s *v1.PodSpec) { apart("web", v1.LabelHostname)(s); s.PriorityClassName = "high" })
	w.budget("guarded", "guarded", 1)
	r := w.run(t, "n1")
	require.Equal(t, []string{"n3", "n4"}, []string{r.Pods[0].Node, r.Pods[1].Node})
}

// A search that finds nothing plays all nodes together once, and a pair that was found is the smallest set when every node may
// fail.
func TestEndOfTheSearch(t *testing.T) {
	nodes := func(n int) *world {
		w := &world{}
		for i := range n {
			w.objects.Nodes = append(w.objects.Nodes, testkit.Node(fmt.Sprintf("m%d", i)).Capacity("cpu=4").Obj())
		}
		return w
	}
	w := nodes(8)
	w.pod("", "", "bare", "m3", v1.PodTemplateSpec{})
	h, err := w.planner(t).Headroom(Search{Limit: 20})
	require.NoError(t, err)
	require.Equal(t, []any{1, 11, true, false}, []any{h.Survives, h.Played, h.Limited, h.Exact})
	require.Nil(t, h.Found)

	w = nodes(8)
	w.app("web", "cpu=4", "m0 m1 m2 m3 m4 m5 m6", nil)
	h, err = w.planner(t).Headroom(Search{Limit: 20})
	require.NoError(t, err)
	require.Equal(t, []any{1, 9, true, true}, []any{h.Survives, h.Played, h.Limited, h.Exact})
	require.Equal(t, "m0+m1", h.Found.Name)
}

// Nodes that offer different amounts of one resource are of two kinds.
func TestKindsOfNodes(t *testing.T) {
	w := five("cpu=4,memory=4Gi")
	w.objects.Nodes = w.objects.Nodes[:2]
	w.objects.Nodes[0].Status.Allocatable = testkit.Resources("cpu=4,memory=8Gi,pods=110")
	require.Len(t, w.planner(t).moreNodes(nil), 2)
}

// A remedy with one replica fewer changes the controller and takes a pod.
func TestFewerReplicas(t *testing.T) {
	w := five("cpu=1")
	w.app("web", "cpu=1", "n1 n2 n3 n4 n5", nil)
	p := w.planner(t)
	results, err := p.Run(p.Nodes(), Options{})
	require.NoError(t, err)
	in := p.in
	in.Snapshot = p.base.Fork()
	p.fewerReplicas(results)[0].change(&in)
	set, _ := cluster.List[*appsv1.ReplicaSet](in.Snapshot).Get("default", "web")
	require.Equal(t, int32(4), *set.Spec.Replicas)
	require.Nil(t, in.Snapshot.Pod("default", "web-4"))
	require.NotNil(t, p.base.Pod("default", "web-4"))
}

// Of plugins that alone reject as many nodes, the plugin that rejects most is named.
func TestBlameByAll(t *testing.T) {
	w := five("cpu=1")
	w.objects.Nodes[2].Spec.Unschedulable, w.objects.Nodes[2].Status.Allocatable = true, testkit.Resources("cpu=4,pods=10")
	w.objects.Nodes[3].Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}}
	w.app("web", "cpu=2", "n1", nil)
	g := w.run(t, "n1", "n5").Groups[0]
	require.Equal(t, []any{Resources, 1, 2}, []any{g.Cause, g.Alone, g.Nodes})
}

// The limit counts the sets of two nodes and more that were played, and the worst of the smallest sets is found.
func TestLimitAndWorst(t *testing.T) {
	w := five("cpu=4")
	w.pod("", "", "bare", "n1", v1.PodTemplateSpec{})
	h, err := w.planner(t).Headroom(Search{Limit: 15})
	require.NoError(t, err)
	require.Equal(t, []any{2, true}, []any{h.Survives, h.Limited})
	require.Equal(t, 5+10+2, h.Played, "three nodes and five nodes together")

	w = five("cpu=2")
	w.app("full", "cpu=2", "n3 n4 n5", nil)
	w.app("web", "cpu=1", "n1 n2 n2", nil)
	h, err = w.planner(t).Headroom(Search{})
	require.NoError(t, err)
	require.Equal(t, []string{"n2"}, h.Found.Nodes)
	require.Nil(t, h.Remedies)
}

// The list of what is left has a resource that pods ask for and no node offers.
func TestResourceOfNoNode(t *testing.T) {
	w := five("cpu=4")
	w.pod("", "", "a", "n2", v1.PodTemplateSpec{Spec: v1.PodSpec{Containers: []v1.Container{{
		Name: "c", Resources: v1.ResourceRequirements{Requests: testkit.Resources("example.com/x=3")},
	}}}})
	require.Contains(t, w.run(t, "n1").Left, Resource{"example.com/x", 0, 3})
}

// A StatefulSet goes on when its pods are ready: by their Ready condition, and without one when they have a node.
func TestReadyOfStatefulSets(t *testing.T) {
	for _, c := range []struct {
		condition v1.PodConditionType
		want      string
	}{{v1.PodReady, "db-1 n3 Waiting"}, {v1.PodScheduled, "db-1 n3 Placed n4"}} {
		w := five("cpu=4")
		w.stateful("db", "n1 n3", appsv1.OrderedReadyPodManagement)
		w.objects.Pods[0].Status.Phase = v1.PodRunning
		w.objects.Pods[0].Status.Conditions = []v1.PodCondition{{Type: c.condition, Status: v1.ConditionFalse}}
		require.Equal(t, c.want, lines(w.run(t, "n3"))[0])
	}
}

// A pod that has no node is not ready, so that an ordered StatefulSet waits for it.
func TestWaitingPodOfAStatefulSet(t *testing.T) {
	w := five("cpu=4")
	w.stateful("db", "n1 n3", appsv1.OrderedReadyPodManagement)
	waits := w.objects.Pods[0]
	waits.Spec.NodeName, waits.Spec.Containers[0].Resources.Requests = "", testkit.Resources("cpu=9")
	w.objects.Pods, w.in.Pending = w.objects.Pods[1:], []*v1.Pod{waits}
	require.Equal(t, "db-1 n3 Waiting", lines(w.run(t, "n3"))[0])
}

// The claims of a StatefulSet's pods begin with the first ordinal.
func TestClaimsOfOrdinalsThatExist(t *testing.T) {
	w := five("cpu=4")
	w.stateful("db", "n1 n1 n1", appsv1.ParallelPodManagement)
	s := w.objects.StatefulSets[0]
	s.Spec.Replicas = ptr(int32(2))
	names := func() (out []string) {
		p := w.planner(t)
		for _, c := range p.unitOf[w.objects.Pods[0]].claims(p.base) {
			out = append(out, c.Name)
		}
		return out
	}
	require.Equal(t, []string{"data-db-0", "data-db-1"}, names())
	s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 1}
	require.Equal(t, []string{"data-db-1", "data-db-2"}, names())
	s.Spec.Ordinals.Start = 2
	require.Equal(t, []string{"data-db-2"}, names())
}

// A pod that was only assumed on its node counts as there.
func TestAssumedPods(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1", nil)
	pod := w.objects.Pods[0]
	pod.Spec.NodeName, w.objects.Pods = "", nil
	s, err := cluster.New(w.objects)
	require.NoError(t, err)
	require.NoError(t, s.Assume(pod, s.Slot("n1")))
	p, err := New(Input{Snapshot: s})
	require.NoError(t, err)
	r, err := p.Run(p.Nodes()[:1], Options{Until: time.Hour})
	require.NoError(t, err)
	require.Equal(t, []string{"web-0 n1 Placed n2"}, lines(r[0]))
	require.Equal(t, 1, r[0].Workloads[0].Before)
	require.NotNil(t, r[0].Pods[0].Leaves, "the forecast knows the node")
}

// A workload that keeps as many pods as it asks for is not below.
func TestSurplusLost(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n2 n3", nil).Spec.Replicas = ptr(int32(2))
	r := w.run(t, "n1")
	require.Equal(t, []string{"web-0 n1 Gone"}, lines(r))
	require.Empty(t, r.Workloads)
}

// Nodes with one value of different labels are of two kinds.
func TestKindsByLabel(t *testing.T) {
	w := five("cpu=4")
	w.objects.Nodes = w.objects.Nodes[:4]
	for i, n := range w.objects.Nodes {
		n.Labels = map[string]string{[]string{"a", "b"}[i%2]: "x"}
	}
	require.Len(t, w.planner(t).moreNodes(nil), 2)
}

// A required term becomes a preference of the largest weight, in the template and on running pods.
func TestWeakerAntiAffinity(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n2 n3 n4 n5", apart("web", v1.LabelHostname))
	p := w.planner(t)
	results, err := p.Run(p.Nodes(), Options{})
	require.NoError(t, err)
	in := p.in
	in.Snapshot = p.base.Fork()
	p.weakerConstraints(results)[0].change(&in)
	set, _ := cluster.List[*appsv1.ReplicaSet](in.Snapshot).Get("default", "web")
	for _, s := range []v1.PodSpec{set.Spec.Template.Spec, in.Snapshot.Pod("default", "web-3").Spec} {
		a := s.Affinity.PodAntiAffinity
		require.Empty(t, a.RequiredDuringSchedulingIgnoredDuringExecution)
		require.Len(t, a.PreferredDuringSchedulingIgnoredDuringExecution, 1)
		require.Equal(t, int32(100), a.PreferredDuringSchedulingIgnoredDuringExecution[0].Weight)
	}
	require.Len(t, p.base.Pod("default", "web-3").Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, 1)
}

// A Job asks for the pods that it had.
func TestJobBelow(t *testing.T) {
	w := five("cpu=1")
	w.app("full", "cpu=1", "n2 n3 n4 n5", nil)
	template := w.objects.ReplicaSets[0].Spec.Template
	w.in.Jobs = []*batchv1.Job{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sum"}, Spec: batchv1.JobSpec{Template: template}}}
	w.pod("Job", "sum", "sum-a", "n1", template)
	require.Equal(t, []Workload{{Kind: "Job", Namespace: "default", Name: "sum", Replicas: 1, Before: 1, Lost: 0, After: 0}}, w.run(t, "n1").Workloads)
}
