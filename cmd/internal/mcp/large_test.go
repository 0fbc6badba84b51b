package mcp

import (
	"context"
	"flag"
	"fmt"
	"syscall"
	"testing"
	"time"

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

// fleet is a cluster of Deployments of ten pods, with budgets, in three zones, and pods that wait.
func fleet(nodes, pods, waiting int) *dump.Objects {
	o := &dump.Objects{}
	for k := range nodes {
		n := testkit.Node(fmt.Sprintf("n%04d", k)).Zone([]string{"a", "b", "c"}[k%3]).Label("pool", "general").Capacity("cpu=8,memory=32Gi,pods=110").Obj()
		n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
		o.Nodes = append(o.Nodes, n)
	}
	for k := range pods + waiting {
		name := fmt.Sprintf("app-%04d", k/10)
		if k%10 == 0 {
			labels := map[string]string{"app": name}
			template := v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "registry.example.com/c:1", Resources: v1.ResourceRequirements{Requests: testkit.Resources("cpu=500m,memory=1Gi")}}}}}
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("d" + name)}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(10)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template}}
			s := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name + "-1", UID: types.UID("r" + name), Labels: labels, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}},
				Spec: appsv1.ReplicaSetSpec{Replicas: d.Spec.Replicas, Selector: d.Spec.Selector, Template: template}}
			o.Deployments, o.ReplicaSets = append(o.Deployments, d), append(o.ReplicaSets, s)
			if k%100 == 0 {
				one := intstr.FromInt32(1)
				o.PodDisruptionBudgets = append(o.PodDisruptionBudgets, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: d.Spec.Selector}})
			}
		}
		b := testkit.Pod(fmt.Sprintf("%s-1-%d", name, k%10)).Labels("app="+name).Owner("apps/v1", "ReplicaSet", name+"-1").Request("cpu=500m,memory=1Gi")
		if k < pods {
			b = b.On(fmt.Sprintf("n%04d", k%nodes))
		} else if k%2 == 0 {
			b = b.NodeSelector("pool=gone")
		} else {
			b = b.Request("cpu=20")
		}
		p := b.Obj()
		p.OwnerReferences[0].UID = types.UID("r" + name)
		p.Spec.Priority, p.Spec.Containers[0].Image = new(int32(0)), "registry.example.com/c:1"
		if k < pods {
			p.Status.Phase, p.Status.Conditions = v1.PodRunning, []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
		}
		o.Pods = append(o.Pods, p)
	}
	return o
}

// Each tool answers within two seconds of a machine with nothing else to do, from one snapshot of 5,000 nodes and 50,000 pods, within the
// bytes that are allowed. Without -large the cluster is a tenth, and the time does not count.
func TestLarge(t *testing.T) {
	nodes, pods, waiting := 500, 5000, 60
	if *large {
		nodes, pods = 5000, 50_000
	}
	if testing.Short() {
		nodes, pods, waiting = 50, 500, 20
	}
	o := Options{Namespace: "default", Read: func(context.Context) (*dump.Objects, []string, error) { return fleet(nodes, pods, waiting), nil, nil }}
	o.Patience = time.Hour
	c := connect(t, o)
	waits := fmt.Sprintf("app-%04d-1-%d", (pods+waiting-1)/10, (pods+waiting-1)%10)
	ask(t, c, "why_no_pods", args{"workload": "deployment/default/app-0000"}) // takes the snapshot
	for _, x := range []struct {
		tool string
		a    args
	}{
		{"why_pod", args{"pod": waits}}, {"why_pod", args{"pod": "app-0003-1-3"}}, {"why_no_pods", args{"workload": "deployment/default/app-0000"}}, {"fit", args{"pod": "app-0003-1-3"}}, {"fit", args{"template": "deployment/default/app-0003"}},
		{"drain", args{"nodes": []string{"n0001"}}}, {"drain", args{"nodes": []string{"n0001", "n0002", "n0003"}}},
		{"what_if", args{"changes": []any{args{"do": "removeNode", "on": "n0001"}, args{"do": "addNodeLike", "on": "n0002", "to": "3"}, args{"do": "scale", "on": "deployment/default/app-0003", "to": "30"}}}}, {"overview", args{}},
	} {
		began, used := time.Now(), processor(t)
		s := ask(t, c, x.tool, x.a)
		took, used := time.Since(began), processor(t)-used
		require.False(t, s.bad, s.text)
		require.LessOrEqual(t, s.bytes, DefaultSize)
		require.NotContains(t, s.data, "incomplete")
		t.Logf("%-12s %6d bytes %8.0f ms, %8.0f ms of processor time", x.tool, s.bytes, took.Seconds()*1e3, used.Seconds()*1e3)
		if *large {
			require.LessOrEqual(t, min(took, used), 2*time.Second, x.tool)
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
