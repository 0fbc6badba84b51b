package failures

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// A device that every node reaches is free again when the claim of the lost pod is gone.
func TestDeviceOfAllNodes(t *testing.T) {
	w := five("cpu=4")
	w.devices("n1", "gpu-0")
	all := &w.objects.ResourceSlices[0].Spec
	all.NodeName, all.AllNodes, all.Pool.Name = nil, ptr(true), "pool"
	w.objects.ResourceClaimTemplates = []*resourcev1.ResourceClaimTemplate{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gpu"}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: deviceClaimSpec()},
	}}
	w.claim("made", "pool", "gpu-0", "uid-train-0")
	c := w.objects.ResourceClaims[0]
	c.Status.Allocation.NodeSelector = nil
	c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "train-0", UID: "uid-train-0", Controller: ptr(true)}}
	w.app("train", "cpu=1", "n1", func(s *v1.PodSpec) {
		s.ResourceClaims = []v1.PodResourceClaim{{Name: "none", ResourceClaimTemplateName: ptr("gpu")}, {Name: "device", ResourceClaimTemplateName: ptr("gpu")}}
	})
	w.objects.ReplicaSets[0].Spec.Template.Spec.ResourceClaims = w.objects.ReplicaSets[0].Spec.Template.Spec.ResourceClaims[1:]
	w.objects.Pods[0].Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "none"}, {Name: "device", ResourceClaimName: ptr("made")}}
	require.Equal(t, []string{"train-0 n1 Placed n2"}, lines(w.run(t, "n1")))

	w.objects.Pods[0].Status.ResourceClaimStatuses, w.objects.Pods[0].Spec.ResourceClaims = nil, nil
	w.objects.Pods[0].Status.ExtendedResourceClaimStatus = &v1.PodExtendedResourceClaimStatus{ResourceClaimName: "made"}
	require.Equal(t, []string{"train-0 n1 Placed n2"}, lines(w.run(t, "n1")), "a claim for extended resources")
}

// A claim that no pod has reserved any more is free before the first attempt.
func TestFreeBeforeTheFirstAttempt(t *testing.T) {
	w := five("cpu=4")
	w.devices("n1", "gpu-0")
	w.devices("n4", "gpu-0")
	w.claim("train", "n1", "gpu-0", "uid-train-0")
	w.app("train", "cpu=1", "n1", claiming("train"))
	attempts := 0
	_, err := w.planner(t).Run([]Scenario{{"test", []string{"n1"}}}, Options{Observe: func(int, Attempt) { attempts++ }})
	require.NoError(t, err)
	require.Equal(t, 1, attempts)
}

// A pod of a template that does not exist stays pending.
func TestNoClaimTemplate(t *testing.T) {
	w := five("cpu=4")
	w.app("train", "cpu=1", "n1", func(s *v1.PodSpec) {
		s.ResourceClaims = []v1.PodResourceClaim{{Name: "device", ResourceClaimTemplateName: ptr("gone")}}
	})
	r := w.run(t, "n1")
	require.Equal(t, Devices, r.Groups[0].Cause)
	require.Contains(t, r.Groups[0].Message, "ResourceClaim not created yet")
	require.NotContains(t, r.Groups[0].Message, "deallocat", "an attempt that ended before any node gives nothing back")
}

// A claim that no pod has reserved and that is allocated for the lost node is given back, and the pod is tried again.
func TestGivenBack(t *testing.T) {
	w := five("cpu=4")
	w.devices("n1", "gpu-0")
	w.devices("n4", "gpu-0")
	w.claim("train", "n1", "gpu-0")
	waits := w.pod("", "", "waits", "", v1.PodTemplateSpec{})
	claiming("train")(&waits.Spec)
	w.objects.Pods = nil
	w.in.Pending = []*v1.Pod{waits}
	var attempts []string
	r, err := w.planner(t).Run([]Scenario{{"test", []string{"n1"}}}, Options{Observe: func(i int, a Attempt) {
		text := a.Decision.Node
		if a.Decision.Failure != nil {
			text = a.Decision.Failure.Text()
		}
		attempts = append(attempts, fmt.Sprint(i, " ", a.Pod.Name, ": ", text))
	}})
	require.NoError(t, err)
	require.Equal(t, 1, r[0].Released)
	require.Equal(t, []string{
		"0 waits: 0/4 nodes are available: 4 resourceclaim not available on the node. deallocation of ResourceClaim completed, preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling.",
		"0 waits: n4",
	}, attempts)
}

// The message of a failed attempt has the text of PostFilter.
func TestMessage(t *testing.T) {
	w := five("cpu=1500m")
	w.app("web", "cpu=1", "n1 n2 n3 n4 n5", nil)
	require.Equal(t, "0/4 nodes are available: 4 Insufficient cpu. preemption: 0/4 nodes are available: 4 No preemption victims found for incoming pod.",
		w.run(t, "n1").Groups[0].Message)
}

// A pod that is not ready is not healthy before the failure, so no budget loses it.
func TestUnhealthy(t *testing.T) {
	w := five("cpu=1")
	w.app("web", "cpu=1", "n1 n2 n3", nil)
	w.app("full", "cpu=1", "n4 n5", nil)
	w.objects.Pods[0].Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse}}
	w.budget("web", "web", 3)
	require.Empty(t, w.run(t, "n1").Budgets)
	require.Equal(t, []Budget{{Name: "default/web", Minimum: 3, Before: 2, Lost: 1, After: 1}}, w.run(t, "n2").Budgets)
}

// A pod that is being deleted is not healthy, is lost without a fate of its own, and is no replica even when another pod displaces it.
func TestPodsThatLeave(t *testing.T) {
	leaves := func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: testkit.Epoch} }
	w := five("cpu=1")
	w.app("web", "cpu=1", "n1 n2 n3", nil)
	w.app("full", "cpu=1", "n4 n5", nil)
	leaves(w.objects.Pods[0])
	w.budget("web", "web", 3)
	require.Empty(t, w.run(t, "n1").Budgets)
	require.Equal(t, []Budget{{Name: "default/web", Minimum: 3, Before: 2, Lost: 1, After: 1}}, w.run(t, "n2").Budgets)

	w = five("cpu=4")
	leaves(w.pod("DaemonSet", "agent", "agent-1", "n1", v1.PodTemplateSpec{}))
	w.pod("DaemonSet", "agent", "agent-2", "n1", v1.PodTemplateSpec{})
	require.Equal(t, []string{"agent-1 n1 Gone", "agent-2 n1 Tied"}, lines(w.run(t, "n1")))

	w = five("cpu=1")
	w.class("high", 1000)
	w.app("web", "cpu=1", "n1", classed("high"))
	w.app("batch", "cpu=1", "n2", nil)
	w.app("full", "cpu=1", "n3 n4 n5", classed("high"))
	leaves(w.objects.Pods[1])
	r := w.run(t, "n1")
	require.Equal(t, []string{"web-0 n1 Placed n2", "batch-0 n2 Gone displaced by default/web-0"}, lines(r)[:2])
	require.Equal(t, []Workload{{Kind: "ReplicaSet", Namespace: "default", Name: "web", Replicas: 1, Before: 1, Lost: 0, After: 1}}, r.Workloads)
}

// Outcomes of pods without a group, counts of a group, and the order of groups of one size.
func TestGroups(t *testing.T) {
	w := five("cpu=1500m")
	w.class("high", 1000)
	w.app("batch", "cpu=1", "n2 n3 n4 n5", nil)
	w.app("web", "cpu=1", "n1", classed("high"))
	r := w.run(t, "n1")
	require.Equal(t, -1, r.Pods[0].Group)
	require.Equal(t, 0, r.Pods[1].Group)
	require.Equal(t, 1, r.Groups[0].Displaced)

	w = five("cpu=2")
	w.app("c", "cpu=2", "n2 n3 n4 n5", nil)
	w.app("b", "cpu=1", "n1", nil)
	w.app("a", "cpu=1", "n1", nil)
	w.app("d", "cpu=100m", "n1 n1", nil)
	r = w.run(t, "n1")
	var names []string
	for _, g := range r.Groups {
		names = append(names, g.Workload)
	}
	require.Equal(t, []string{"ReplicaSet default/d", "ReplicaSet default/a", "ReplicaSet default/b"}, names)
	for _, o := range r.Pods {
		require.Contains(t, r.Groups[o.Group].Pods, "default/"+o.Pod.Name)
	}
	require.Equal(t, 4, r.Stays())
}

// Of two plugins that reject the same nodes, the first of the profile is named; one that alone rejects a node comes before.
func TestBlame(t *testing.T) {
	w := five("cpu=1")
	w.app("web", "cpu=1", "n1 n2 n3 n4 n5", nil)
	for _, n := range w.objects.Nodes[1:] {
		n.Spec.Unschedulable = true
	}
	g := w.run(t, "n1").Groups[0]
	require.Equal(t, []any{Taints, "NodeUnschedulable", 0, 4}, []any{g.Cause, g.Plugin, g.Alone, g.Nodes})
	w.objects.Nodes[4].Spec.Unschedulable = false
	g = w.run(t, "n1").Groups[0]
	require.Equal(t, []any{Resources, "NodeResourcesFit", 1, 4}, []any{g.Cause, g.Plugin, g.Alone, g.Nodes})
}

// Waiting counts as staying.
func TestStays(t *testing.T) {
	w := five("cpu=4")
	w.stateful("db", "n5 n5 n1", appsv1.OrderedReadyPodManagement)
	r := w.run(t, "n5")
	require.Equal(t, []int{1, 1, 2}, []int{r.Pending, r.Waiting, r.Stays()})
}

// Two of five members are a minority.
func TestQuorumOfFive(t *testing.T) {
	w := five("cpu=4")
	w.stateful("db", "n3 n3 n3 n1 n1", appsv1.ParallelPodManagement)
	r := w.run(t, "n3")
	require.Equal(t, 3, r.Workloads[0].Quorum)
	require.True(t, r.Workloads[0].BelowQuorum())
	require.False(t, w.run(t, "n1").Workloads[0].BelowQuorum())
}

// Workloads come in the order of what they lack, then of kind, namespace and name.
func TestOrderOfWorkloads(t *testing.T) {
	w := five("cpu=4")
	w.stateful("a", "n5", appsv1.ParallelPodManagement)
	w.app("c", "cpu=4", "n5", nil)
	w.app("b", "cpu=4", "n5", nil)
	for _, namespace := range []string{"zoo", "a-team"} {
		r := w.app("other", "cpu=4", "n5", nil)
		r.Namespace, w.objects.Pods[len(w.objects.Pods)-1].Namespace = namespace, namespace
	}
	w.app("full", "cpu=1", "n1 n2 n3 n4", nil)
	w.app("two", "cpu=4", "n5 n5", nil)
	var got []string
	for _, x := range w.run(t, "n5").Workloads {
		got = append(got, x.Kind+" "+x.Namespace+"/"+x.Name)
	}
	require.Equal(t, []string{
		"ReplicaSet default/two", "ReplicaSet a-team/other", "ReplicaSet default/b", "ReplicaSet default/c", "ReplicaSet zoo/other", "StatefulSet default/a",
	}, got)
}

// A static pod that is preempted does not come back on another node.
func TestPreemptedStaticPod(t *testing.T) {
	w := five("cpu=1")
	w.class("high", 1000)
	w.app("web", "cpu=1", "n1", classed("high"))
	w.app("full", "cpu=1", "n3 n4 n5", classed("high"))
	p := w.pod("Node", "n2", "proxy-n2", "n2", w.objects.ReplicaSets[0].Spec.Template)
	p.Spec.Priority, p.Spec.PriorityClassName = ptr(int32(0)), ""
	p.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "x"}
	require.Equal(t, []string{"web-0 n1 Placed n2", "proxy-n2 n2 Tied displaced by default/web-0"}, lines(w.run(t, "n1")))
}

// The forecast has every pod of the lost nodes, even if the pod found another node and was preempted there. It has no other pod.
func TestForecastOfDisplacedPods(t *testing.T) {
	w := five("cpu=1500m")
	w.class("high", 1000)
	w.app("batch", "cpu=1", "n2 n3 n4 n5", nil)
	w.app("web", "cpu=1", "n1", classed("high"))
	w.objects.Nodes[1].Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoExecute}}
	for _, p := range w.objects.Pods {
		seconds := int64(10)
		p.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists, TolerationSeconds: &seconds, Effect: v1.TaintEffectNoExecute}}
	}
	w.objects.ReplicaSets[1].Spec.Template.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	r, err := w.planner(t).Run([]Scenario{{"test", []string{"n1"}}}, Options{Until: time.Hour})
	require.NoError(t, err)
	require.Equal(t, "web-0", r[0].Pods[0].Pod.Name)
	require.NotNil(t, r[0].Pods[0].Leaves)
	require.Equal(t, "default/web-0", r[0].Pods[1].DisplacedBy)
	require.Nil(t, r[0].Pods[1].Leaves)
}

// The caller's parallel-for is called instead of a loop, not beside it.
func TestParallelReplacesTheLoop(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1", nil)
	attempts := 0
	_, err := w.planner(t).Run([]Scenario{{"test", []string{"n1"}}}, Options{
		Observe: func(int, Attempt) { attempts++ },
		Parallel: func(n int, run func(int)) {
			for i := range n {
				run(i)
			}
		},
	})
	require.NoError(t, err)
	require.Equal(t, 1, attempts)
}

// Samples are the same in every release.
func TestSamples(t *testing.T) {
	var got []string
	for _, s := range five("cpu=4").planner(t).Pairs(4, 3) {
		got = append(got, s.Name)
	}
	require.Equal(t, "n2+n5 n1+n4 n3+n4 n4+n5", strings.Join(got, " "))
}

// The search beyond the limit: how many sets it plays, and what it finds.
func TestSearchBeyondTheLimit(t *testing.T) {
	eight := func(request, nodes string) *Planner {
		w := &world{}
		for i := range 8 {
			w.objects.Nodes = append(w.objects.Nodes, five("cpu=4").objects.Nodes[0].DeepCopy())
			w.objects.Nodes[i].Name = fmt.Sprintf("m%d", i)
			w.objects.Nodes[i].Labels[v1.LabelHostname] = w.objects.Nodes[i].Name
		}
		w.app("web", request, nodes, nil)
		return w.planner(t)
	}
	var got []string
	for _, limit := range []int{-1, 1, 2, 3, 4, 5, 27} {
		for _, c := range [][2]string{{"cpu=1", "m0 m0 m1 m2 m3"}, {"cpu=4", "m0 m1 m2 m3"}, {"cpu=1", "m7"}} {
			h, err := eight(c[0], c[1]).Headroom(Search{Limit: limit})
			require.NoError(t, err)
			text := fmt.Sprintf("%d: survives %d, played %d, limited %t, exact %t", limit, h.Survives, h.Played, h.Limited, h.Exact)
			if h.Found != nil {
				text += ": " + h.Found.Name
			}
			got = append(got, text)
		}
	}
	require.Equal(t, []string{
		"-1: survives 1, played 8, limited true, exact false",
		"-1: survives 1, played 8, limited true, exact false",
		"-1: survives 1, played 8, limited true, exact false",
		"1: survives 1, played 9, limited true, exact false",
		"1: survives 1, played 9, limited true, exact false",
		"1: survives 1, played 9, limited true, exact false",
		"2: survives 1, played 10, limited true, exact false",
		"2: survives 1, played 10, limited true, exact false",
		"2: survives 1, played 10, limited true, exact false",
		"3: survives 1, played 11, limited true, exact false: m0+m1+m2+m3+m4+m5+m6+m7",
		"3: survives 1, played 11, limited true, exact false: m0+m1+m2+m3+m4+m5+m6+m7",
		"3: survives 1, played 11, limited true, exact false: m7+m0+m1+m2+m3+m4+m5+m6",
		"4: survives 1, played 12, limited true, exact false: m0+m1+m2+m3+m4+m5+m6+m7",
		"4: survives 1, played 12, limited true, exact false: m0+m1+m2+m3+m4+m5",
		"4: survives 1, played 12, limited true, exact false: m7+m0+m1+m2+m3+m4+m5+m6",
		"5: survives 1, played 13, limited true, exact false: m0+m1+m2+m3+m4+m5+m6",
		"5: survives 1, played 13, limited true, exact false: m0+m1+m2+m3+m4",
		"5: survives 1, played 13, limited true, exact false: m7+m0+m1+m2+m3+m4+m5+m6",
		"27: survives 1, played 20, limited true, exact false: m0+m1+m2+m3+m4+m5+m6",
		"27: survives 1, played 18, limited true, exact false: m0+m1+m2+m3+m4",
		"27: survives 1, played 21, limited true, exact false: m7+m0+m1+m2+m3+m4+m5+m6",
	}, got)
}

// The pod that goes with one replica fewer.
func TestSurplus(t *testing.T) {
	w := five("cpu=4")
	w.stateful("db", "n1 n1 n1 n1 n1 n1 n1 n1 n1 n2 n2", appsv1.ParallelPodManagement)
	w.app("web", "cpu=1", "n1 n3 n3 n2", nil)
	p := w.planner(t)
	want := map[string]string{"db": "db-10", "web": "web-2"}
	for _, u := range p.units {
		require.Equal(t, want[u.name], p.surplus(u).Name)
	}
	u := *p.units[0]
	u.pods = []*v1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "waits"}}}
	require.Nil(t, p.surplus(&u), "a pod that waits for a node is no surplus")
}

// The only ReplicaSet of a Deployment changes its replicas even when there are none.
func TestEditOfZero(t *testing.T) {
	w := five("cpu=4")
	r := w.app("x-1", "cpu=1", "", nil)
	r.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "x", Controller: ptr(true)}}
	w.in.Deployments = []*appsv1.Deployment{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"}, Spec: appsv1.DeploymentSpec{Replicas: ptr(int32(0)), Selector: r.Spec.Selector, Template: r.Spec.Template},
	}}
	p := w.planner(t)
	in := p.in
	in.Snapshot = p.base.Fork()
	p.units[0].edit(&in, func(replicas **int32, _ *v1.PodTemplateSpec) { *replicas = ptr(int32(2)) })
	changed, _ := cluster.List[*appsv1.ReplicaSet](in.Snapshot).Get("default", "x-1")
	require.Equal(t, int32(2), *changed.Spec.Replicas)
}

// A remedy changes replicas and template of every object of a workload, and of old ReplicaSets the template alone.
func TestEdit(t *testing.T) {
	w := five("cpu=4")
	template := v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "x"}}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c"}}}}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
	meta := metav1.ObjectMeta{Namespace: "default", Name: "x"}
	w.in.Deployments = []*appsv1.Deployment{{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: ptr(int32(3)), Selector: selector, Template: template}}}
	w.in.Jobs = []*batchv1.Job{{ObjectMeta: meta, Spec: batchv1.JobSpec{Template: template}}}
	for i, n := range []int32{0, 3} {
		w.objects.ReplicaSets = append(w.objects.ReplicaSets, &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("x-%d", i), OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "x", Controller: ptr(true)}}},
			Spec:       appsv1.ReplicaSetSpec{Replicas: ptr(n), Selector: selector, Template: template},
		})
	}
	w.objects.ReplicationControllers = []*v1.ReplicationController{{ObjectMeta: meta, Spec: v1.ReplicationControllerSpec{Replicas: ptr(int32(3)), Template: &template}}}
	w.objects.StatefulSets = []*appsv1.StatefulSet{{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: ptr(int32(3)), Selector: selector, Template: template}}}
	p := w.planner(t)
	in := p.in
	in.Snapshot = p.base.Fork()
	for _, u := range p.units {
		u.edit(&in, func(replicas **int32, t *v1.PodTemplateSpec) { *replicas, t.Spec.NodeName = ptr(int32(2)), u.kind })
	}
	got := map[string]int32{}
	note := func(name string, replicas *int32, t v1.PodTemplateSpec) { got[name+" of "+t.Spec.NodeName] = *replicas }
	for _, d := range in.Deployments {
		note("Deployment", d.Spec.Replicas, d.Spec.Template)
	}
	for r := range cluster.List[*appsv1.ReplicaSet](in.Snapshot).All() {
		note(r.Name, r.Spec.Replicas, r.Spec.Template)
	}
	for r := range cluster.List[*v1.ReplicationController](in.Snapshot).All() {
		note("ReplicationController", r.Spec.Replicas, *r.Spec.Template)
	}
	for s := range cluster.List[*appsv1.StatefulSet](in.Snapshot).All() {
		note("StatefulSet", s.Spec.Replicas, s.Spec.Template)
	}
	require.Equal(t, map[string]int32{
		"Deployment of Deployment": 2, "x-0 of Deployment": 0, "x-1 of Deployment": 2,
		"ReplicationController of ReplicationController": 2, "StatefulSet of StatefulSet": 2,
	}, got)
	require.Equal(t, "Job", in.Jobs[0].Spec.Template.Spec.NodeName)
	require.Empty(t, w.in.Deployments[0].Spec.Template.Spec.NodeName, "the input stays")
	require.Empty(t, w.in.Jobs[0].Spec.Template.Spec.NodeName)
	for _, replicas := range []*int32{w.in.Deployments[0].Spec.Replicas, w.objects.ReplicaSets[1].Spec.Replicas, w.objects.ReplicationControllers[0].Spec.Replicas, w.objects.StatefulSets[0].Spec.Replicas} {
		require.Equal(t, int32(3), *replicas)
	}
	require.Empty(t, w.in.Jobs[0].Spec.Template.Spec.NodeName)
}
