package failures

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/release"
)

// Pods of one workload are in one group when they stay for one reason.
func TestReasonsOfGroups(t *testing.T) {
	one, two := &unit{kind: "ReplicaSet", name: "one"}, &unit{kind: "ReplicaSet", name: "two"}
	err := func(text string) *placement.Failure {
		return &placement.Failure{Err: errors.New(text), Code: filter.Error}
	}
	items := []item{
		{unit: one}, {unit: two},
		{unit: one, gate: "a"}, {unit: one, gate: "b"},
		{unit: one, refusal: errors.New("c")}, {unit: one, refusal: errors.New("d")},
		{unit: one, failure: err("e")}, {unit: one, failure: err("f")},
	}
	s, bad := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n").Capacity("cpu=1,pods=1").Obj()}})
	require.NoError(t, bad)
	placer, bad := placement.NewPlacer(s, placement.DefaultProfile())
	require.NoError(t, bad)
	g := newGroups(&player{snapshot: s, placer: placer, scene: scene{waits: map[*unit]string{one: "later", two: "later"}}})
	for round := range 2 {
		for k := range items {
			it := items[k]
			it.old = testkit.Pod("p").Obj()
			it.pod = it.old.DeepCopy()
			if it.gate != "" {
				it.pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: it.gate}}
			}
			require.Equal(t, k, g.add(&it), "%d", round)
		}
	}
	causes := []Cause{}
	for _, x := range g.list {
		require.Len(t, x.Pods, 2)
		causes = append(causes, x.Cause)
	}
	require.Equal(t, []Cause{Order, Order, Gates, Gates, Refused, Refused, Other, Other}, causes)
	require.Equal(t, "later", g.list[0].Reason)
	require.Equal(t, "it is gated by a", g.list[2].Why.Text)
}

// A pod whose affinity wants a pod that stays pending too has that pod's cause.
func TestCauseOfAWantedPod(t *testing.T) {
	w := five("cpu=4")
	w.objects.Nodes[0] = testkit.Node("n1").Zone("a").Capacity("cpu=8").Obj()
	w.app("db", "cpu=6", "n1", nil)
	w.app("web", "cpu=1", "n1", func(s *v1.PodSpec) {
		s.Affinity = testkit.Pod("x").RequireWith(v1.LabelHostname, "app=db").Obj().Spec.Affinity
	})
	r := w.run(t, "n1")
	var texts []string
	for _, g := range r.Groups {
		texts = append(texts, g.Why.Text)
	}
	const own = "it asks for cpu 6, and n2, the largest of 4 open nodes, has 4"
	require.ElementsMatch(t, []string{
		own,
		"its affinity by kubernetes.io/hostname wants pods with app=db, and no such pod runs: default/db-0 waits itself: " + own,
	}, texts)
}

// A lost pod gives back what quotas charge for it, and the next pod is charged: a quota that was lowered since refuses it.
func TestQuotas(t *testing.T) {
	for cpu, want := range map[string][]string{
		"3": {"web-0 n1 Placed n3", "web-1 n1 Placed n5"},
		"2": {"web-0 n1 Placed n3", "web-1 n1 Pending",
			`ReplicaSet default/web: default/web-1: refused:  0/0: pods "web-1" is forbidden: exceeded quota: q, requested: requests.cpu=1, used: requests.cpu=2, limited: requests.cpu=2`},
	} {
		w := five("cpu=4")
		w.app("web", "cpu=1", "n1 n1 n2", nil)
		q := &v1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "q"}, Spec: v1.ResourceQuotaSpec{Hard: testkit.Resources("requests.cpu=" + cpu)}}
		w.in.Quotas = admission.NewQuotas([]*v1.ResourceQuota{q}, w.objects.Pods, testkit.Epoch, release.Current)
		p := w.planner(t)
		for range 2 { // each scenario begins with the quotas of the input
			r, err := p.Run([]Scenario{{"test", []string{"n1"}}}, Options{})
			require.NoError(t, err)
			require.Equal(t, want, lines(r[0]), cpu)
		}
	}
}

// A budget without a status gets its minimum from the pods of its controllers, a budget with a status keeps its own.
func TestMinimumOfBudgets(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n2 n3", nil)
	w.app("free", "cpu=1", "n1 n2", nil)
	w.pod("Rollout", "x", "x-0", "n1", v1.PodTemplateSpec{})
	for _, name := range []string{"half", "known", "nobody"} {
		w.budget(name, "web", 0)
	}
	half := intstr.FromString("50%")
	for _, b := range w.objects.PodDisruptionBudgets {
		b.Spec.MinAvailable = &half
	}
	w.objects.PodDisruptionBudgets[1].Status = policyv1.PodDisruptionBudgetStatus{DesiredHealthy: 3}
	w.objects.PodDisruptionBudgets[2].Spec.Selector.MatchLabels["app"] = "nobody"
	var got [][2]int32
	for _, b := range w.planner(t).budgets {
		got = append(got, [2]int32{b.desired, b.healthy})
	}
	require.Equal(t, [][2]int32{{2, 3}, {3, 3}, {0, 0}}, got)
}

// A workload of an unknown controller asks for the pods that run. A pod that waits is none of them.
func TestReplicasOfUnknownControllers(t *testing.T) {
	w := five("cpu=4")
	w.pod("Rollout", "x", "x-0", "n1", v1.PodTemplateSpec{})
	w.pod("Rollout", "x", "x-1", "n2", v1.PodTemplateSpec{})
	waits := w.pod("Rollout", "x", "x-2", "", v1.PodTemplateSpec{})
	w.objects.Pods, w.in.Pending = w.objects.Pods[:2], []*v1.Pod{waits}
	r := w.app("one", "cpu=1", "n3", nil)
	r.Spec.Replicas = nil
	u := w.planner(t).unitOf
	require.Equal(t, []int{2, 2}, []int{u[waits].want, u[waits].running})
	require.Equal(t, []int{1, 1}, []int{u[w.objects.Pods[2]].want, u[w.objects.Pods[2]].running}, "a ReplicaSet has one replica by default")
}

// The pods of a ReplicaSet or ReplicationController are admitted once, those of other controllers each.
func TestAdmittedOnce(t *testing.T) {
	x := five("cpu=4").planner(t).take()
	for _, kind := range []string{"ReplicaSet", "ReplicationController", "StatefulSet", "Job"} {
		w := five("cpu=4")
		first, err := x.admit(w.pod(kind, "web", "web-1", "", w.app("web", "cpu=1", "", nil).Spec.Template))
		require.NoError(t, err)
		second, err := x.admit(w.pod(kind, "web", "web-2", "", w.objects.ReplicaSets[0].Spec.Template))
		require.NoError(t, err)
		require.NotSame(t, first, second)
		alike := kind == "ReplicaSet" || kind == "ReplicationController"
		require.Equal(t, alike, x.admitted[unitKey{kind, "default", "web"}] != nil, kind)
		require.Equal(t, alike, first.Name == second.Name, kind)
	}
}

// A result without groups binds nothing, and a plugin of the user's own is no known cause.
func TestNoCause(t *testing.T) {
	require.Nil(t, (&Headroom{}).Binding())
	require.Nil(t, (&Headroom{Found: &Result{}}).Binding())
	h := Headroom{Found: &Result{Groups: []Group{{Cause: Gates}, {Cause: Order}}}}
	require.Equal(t, Gates, h.Binding().Cause)
	require.Equal(t, Other, causeOf("Mine", ""))
}

// Pods that waited before the failure are tried in the order of their creation.
func TestOrderOfPending(t *testing.T) {
	w := five("cpu=4")
	for k, name := range []string{"third", "first", "second"} {
		p := w.pod("", "", name, "", v1.PodTemplateSpec{})
		p.CreationTimestamp.Time = testkit.Epoch.Add(time.Duration([]int{3, 1, 2}[k]) * time.Second)
		w.in.Pending = append(w.in.Pending, p)
	}
	w.objects.Pods = nil
	var got []string
	for _, p := range w.planner(t).pending {
		got = append(got, p.Name)
	}
	require.Equal(t, []string{"first", "second", "third"}, got)
}

// Beyond the limit, a set of nodes that leaves a pod pending loses the nodes that it does not need: n1 has most, and nobody makes its
// pod again.
func TestFewerNodes(t *testing.T) {
	w := five("cpu=4")
	w.app("full", "cpu=4", "n5", nil)
	w.app("web", "cpu=3", "n2 n3", nil)
	w.pod("", "", "bare", "n1", w.objects.ReplicaSets[0].Spec.Template)
	h, err := w.planner(t).Headroom(Search{Limit: 9})
	require.NoError(t, err)
	require.Equal(t, []any{1, true, true}, []any{h.Survives, h.Limited, h.Exact})
	require.ElementsMatch(t, []string{"n2", "n5"}, h.Found.Nodes)
}

// A terminating pod of an ordered StatefulSet is gone, while the set waits with its other pods.
func TestTerminatingPodOfAStatefulSet(t *testing.T) {
	w := five("cpu=4")
	w.stateful("db", "n1 n3 n3", appsv1.OrderedReadyPodManagement)
	w.objects.Pods[0].Status.Phase = v1.PodRunning
	w.objects.Pods[0].Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse}}
	w.objects.Pods[1].DeletionTimestamp = &metav1.Time{Time: testkit.Epoch}
	r := w.run(t, "n3")
	require.Equal(t, []string{"db-1 n3 Gone", "db-2 n3 Waiting"}, lines(r)[:2])
	require.Equal(t, 2, r.Workloads[0].Before, "a pod that leaves is no replica")
}

// A displaced pod that comes back is no pod more of its workload.
func TestDisplacedPodThatComesBack(t *testing.T) {
	w := five("cpu=2")
	w.class("high", 1000)
	w.app("batch", "cpu=1", "n1 n2 n3 n4 n5", nil)
	w.app("web", "cpu=2", "n1", classed("high"))
	r := w.run(t, "n1")
	require.Equal(t, []int{1, 0}, []int{r.Displaced, r.Pending})
	require.Equal(t, []Workload{
		{Kind: "ReplicaSet", Namespace: "default", Name: "batch", Replicas: 5, Before: 5, Lost: 4, After: 5},
		{Kind: "ReplicaSet", Namespace: "default", Name: "web", Replicas: 1, Before: 1, Lost: 0, After: 1},
	}, r.Workloads)
}

// A pod of a DaemonSet that is preempted is made again. One that is lost with its node is not.
func TestPreemptedDaemon(t *testing.T) {
	w := five("cpu=1")
	w.class("high", 1000)
	w.app("web", "cpu=1", "n1", classed("high"))
	w.app("full", "cpu=1", "n3 n4 n5", classed("high"))
	agent := w.objects.ReplicaSets[0].Spec.Template
	agent.Spec.PriorityClassName = ""
	w.pod("DaemonSet", "agent", "agent-1", "n1", agent)
	w.pod("DaemonSet", "agent", "agent-2", "n2", agent)
	require.Equal(t, []string{"agent-1 n1 Tied", "web-0 n1 Placed n2", "agent-2 n2 Pending displaced by default/web-0"}, lines(w.run(t, "n1"))[:3])
}

// A negative number of remedies is none.
func TestNoRemedies(t *testing.T) {
	w := five("cpu=1")
	w.app("web", "cpu=1", "n1 n2 n3 n4 n5", nil)
	for _, n := range []int{0, -1, -5} {
		h, err := w.planner(t).Headroom(Search{Remedies: n})
		require.NoError(t, err)
		require.NotNil(t, h.Found)
		require.Empty(t, h.Remedies)
	}
}

// A StatefulSet makes a claim that is not there together with the pod.
func TestMissingClaim(t *testing.T) {
	w := five("cpu=4")
	w.stateful("db", "n1", appsv1.ParallelPodManagement)
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	w.objects.Claims, w.objects.PersistentVolumes = nil, nil
	w.objects.StorageClasses = []*storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "disk"}, Provisioner: "example.com/disk", VolumeBindingMode: &mode}}
	require.Equal(t, []string{"db-0 n1 Placed n2"}, lines(w.run(t, "n1")))
}

// Pods are lost in the order of their namespaces and names.
func TestByName(t *testing.T) {
	var list []*v1.Pod
	for _, name := range []string{"a/x", "a/y", "b/a"} {
		namespace, short, _ := strings.Cut(name, "/")
		list = append(list, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: short}})
	}
	for i, a := range list {
		for j, b := range list {
			require.Equal(t, cmp.Compare(i, j), byName(a, b), "%d %d", i, j)
		}
	}
}

// A plugin may fail for a pod that no plugin was asked about, because no node was left.
func TestGroupOfBrokenPodWithoutNodes(t *testing.T) {
	w := five("cpu=4")
	w.objects.Nodes = w.objects.Nodes[:1]
	w.app("web", "cpu=1", "n1", func(s *v1.PodSpec) {
		s.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn}}},
		}}
	})
	r := w.run(t, "n1")
	require.Len(t, r.Groups, 1)
	require.Equal(t, Other, r.Groups[0].Cause)
	require.Equal(t, filter.NoNodes, r.Groups[0].Message)
	require.Equal(t, filter.NoNodes, r.Groups[0].Reason)
}
