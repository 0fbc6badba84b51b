package mcp

import (
	"context"
	"flag"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/dump"
)

var large = flag.Bool("large", false, "ask every tool about 5,000 nodes and 50,000 pods, and print how long each takes")

// kinds are pods that wait, each for a reason of its own: 12 kinds.
var kinds = []func(b testkit.PodBuilder) testkit.PodBuilder{
	func(b testkit.PodBuilder) testkit.PodBuilder { return b.NodeSelector("pool=gone") },
	func(b testkit.PodBuilder) testkit.PodBuilder { return b.Request("cpu=20") },
	func(b testkit.PodBuilder) testkit.PodBuilder { return b.Request("memory=100Gi") },
	func(b testkit.PodBuilder) testkit.PodBuilder { return b.NodeSelector("pool=reserved") },
	func(b testkit.PodBuilder) testkit.PodBuilder { return b.RequireWith(v1.LabelTopologyZone, "app=none") },
	func(b testkit.PodBuilder) testkit.PodBuilder { return b.Request("example.com/gpu=1") },
	func(b testkit.PodBuilder) testkit.PodBuilder {
		return b.Spread(1, "rack", v1.DoNotSchedule, "app="+b.Obj().Labels["app"])
	},
	func(b testkit.PodBuilder) testkit.PodBuilder {
		return b.HostPort("", v1.ProtocolTCP, 80).NodeSelector("kubernetes.io/hostname=n0001")
	},
	func(b testkit.PodBuilder) testkit.PodBuilder {
		return b.RequireApart(v1.LabelTopologyZone, "app="+b.Obj().Labels["app"]).NodeSelector("topology.kubernetes.io/zone=none")
	},
	func(b testkit.PodBuilder) testkit.PodBuilder {
		b.Obj().Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "none"}}}}
		return b
	},
	func(b testkit.PodBuilder) testkit.PodBuilder {
		return b.Request("cpu=7").RequireWith(v1.LabelHostname, "app=app-0001")
	},
	func(b testkit.PodBuilder) testkit.PodBuilder {
		return b.RequireNodes(v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "arch", Operator: v1.NodeSelectorOpIn, Values: []string{"arm64"}}}})
	},
}

// fleet is a cluster of nodes of 16 cpu in three zones, one in 50 of them reserved, and of Deployments of ten pods, one in ten with a budget.
// The pods that wait are of twelve kinds, in Deployments of some pods each.
func fleet(nodes, pods, waiting, each int) *dump.Objects {
	o := &dump.Objects{}
	for k := range nodes {
		b := testkit.Node(fmt.Sprintf("n%04d", k)).Zone([]string{"a", "b", "c"}[k%3]).Label("pool", "general").Capacity("cpu=16,memory=64Gi,pods=110")
		if k%50 == 49 {
			b = b.Label("pool", "reserved").Taint("team=ml:NoSchedule")
		}
		n := b.Obj()
		n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
		o.Nodes = append(o.Nodes, n)
	}
	for k := range pods / 10 {
		name := fmt.Sprintf("app-%04d", k)
		o.Pods = append(o.Pods, app(o, name, 10, func(b testkit.PodBuilder) testkit.PodBuilder { return b })...)
		if k%10 == 0 {
			one := intstr.FromInt32(1)
			o.PodDisruptionBudgets = append(o.PodDisruptionBudgets, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}}})
		}
	}
	for k, p := range o.Pods {
		p.Spec.NodeName = o.Nodes[k%nodes].Name
		p.Status.Phase, p.Status.Conditions = v1.PodRunning, []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
	}
	for k := 0; waiting > 0; k++ {
		n := min(each, waiting)
		waiting -= n
		o.Pods = append(o.Pods, app(o, fmt.Sprintf("wait-%d", k), n, kinds[k%len(kinds)])...)
	}
	return o
}

// app makes a Deployment with a ReplicaSet, and returns its pods.
func app(o *dump.Objects, name string, replicas int, with func(b testkit.PodBuilder) testkit.PodBuilder) (pods []*v1.Pod) {
	made := with(testkit.Pod("p").Labels("app=" + name).Request("cpu=500m,memory=1Gi")).Obj()
	made.Spec.Priority, made.Spec.Containers[0].Image = new(int32(0)), "registry.example.com/c:1"
	template := v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: made.Labels}, Spec: made.Spec}
	template.Spec.Priority = nil
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("d" + name)}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(replicas)), Selector: &metav1.LabelSelector{MatchLabels: made.Labels}, Template: template}}
	s := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name + "-1", UID: types.UID("r" + name), Labels: made.Labels, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}},
		Spec: appsv1.ReplicaSetSpec{Replicas: d.Spec.Replicas, Selector: d.Spec.Selector, Template: template}}
	o.Deployments, o.ReplicaSets = append(o.Deployments, d), append(o.ReplicaSets, s)
	for k := range replicas {
		p := made.DeepCopy()
		p.Name, p.UID = fmt.Sprintf("%s-1-%d", name, k), types.UID(fmt.Sprintf("%s-%d", name, k))
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
		pods = append(pods, p)
	}
	return pods
}

// held returns options for a server about objects that are in memory.
func held(o *dump.Objects) Options {
	return Options{Namespace: "default", Read: func(context.Context) (*dump.Objects, []string, error) { return o, nil, nil }}
}

// Each tool answers within two seconds from one snapshot of 5,000 nodes and 50,000 pods, of which 30 of 12 kinds wait, within the bytes that are
// allowed. Without -large the cluster is a fiftieth, and the time does not count: a machine that does something else would fail.
func TestLarge(t *testing.T) {
	nodes, pods := 100, 1000
	if *large {
		nodes, pods = 5000, 50_000
	}
	if testing.Short() {
		nodes, pods = 50, 500
	}
	o := held(fleet(nodes, pods, 30, 3))
	o.Patience = time.Hour
	c := connect(t, o)
	ask(t, c, "why_no_pods", args{"workload": "deployment/default/app-0000"}) // takes the snapshot
	calls := []call{
		{"why_pod", args{"pod": "app-0003-1-3"}}, {"why_no_pods", args{"workload": "deployment/default/app-0000"}}, {"fit", args{"pod": "app-0003-1-3"}}, {"fit", args{"template": "deployment/default/app-0003"}},
		{"drain", args{"nodes": []string{"n0001"}}}, {"drain", args{"nodes": []string{"n0001", "n0002", "n0003"}}},
		{"what_if", args{"changes": []any{args{"do": "removeNode", "on": "n0001"}, args{"do": "addNodeLike", "on": "n0002", "to": "3"}, args{"do": "scale", "on": "deployment/default/app-0003", "to": "30"}}}}, {"overview", args{}},
	}
	for k := range 10 {
		calls = append(calls, call{"why_pod", args{"pod": fmt.Sprintf("wait-%d-1-0", k)}})
	}
	for _, x := range calls {
		began, used := time.Now(), processor(t)
		s := ask(t, c, x.tool, x.a)
		took, used := time.Since(began), processor(t)-used
		require.False(t, s.bad, s.text)
		require.LessOrEqual(t, s.bytes, DefaultSize)
		require.NotContains(t, s.data, "incomplete")
		t.Logf("%-12s %6d bytes %8.0f ms, %8.0f ms of processor time: %v", x.tool, s.bytes, took.Seconds()*1e3, used.Seconds()*1e3, x.a)
		if *large {
			assert.LessOrEqual(t, took, 2*time.Second, x.tool)
		}
	}
}

// call is a tool with arguments.
type call struct {
	tool string
	a    args
}

// With thousands of pods that wait each tool answers within ten seconds, or says within them what it did not search.
func TestLargeQueue(t *testing.T) {
	if !*large {
		t.Skip("by command: -large")
	}
	for _, each := range []int{1, 10, 500} {
		o := held(fleet(5000, 50_000, 6000, each))
		c := connect(t, o)
		ask(t, c, "why_no_pods", args{"workload": "deployment/default/app-0000"})
		for _, x := range []call{{"overview", args{}}, {"overview", args{"namespace": "default"}}, {"why_pod", args{"pod": "wait-11-1-0"}}, {"why_pod", args{"pod": "app-0003-1-3"}}, {"fit", args{"pod": "app-0003-1-3"}}, {"drain", args{"nodes": []string{"n0001", "n0002"}}},
			{"what_if", args{"changes": []any{args{"do": "removeNode", "on": "n0001"}}}}} {
			began := time.Now()
			s := ask(t, c, x.tool, x.a)
			took := time.Since(began)
			t.Logf("%d of a kind: %-12s %6d bytes %8.0f ms %v", each, x.tool, s.bytes, took.Seconds()*1e3, s.data["incomplete"])
			require.False(t, s.bad, s.text)
			require.LessOrEqual(t, s.bytes, DefaultSize)
			assert.LessOrEqual(t, took, patience+500*time.Millisecond, x.tool)
		}
	}
}

// processor is the processor time that the process has used.
func processor(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
