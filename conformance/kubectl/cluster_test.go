package kubectl

import (
	"fmt"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

const perService = 10 // pods

func nodeName(i int) string { return fmt.Sprintf("node-%c%03d", 'a'+i%3, i) }

func requests(cpu, memory string) v1.ResourceList {
	return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
}

// populate creates nodes, and Deployments of ten pods in three namespaces, some with budgets, affinity and spread constraints. One
// Deployment of ten has pods that wait, for a reason of their own.
func (w *world) populate(nodes, pods int) {
	w.t.Helper()
	ctx := w.t.Context()
	for i := range nodes {
		room := requests("8", "32Gi")
		room[v1.ResourcePods] = resource.MustParse("60")
		n := &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), Labels: map[string]string{v1.LabelHostname: nodeName(i), v1.LabelTopologyZone: fmt.Sprintf("zone-%c", 'a'+i%3), "pool": "web"}},
			Status:     v1.NodeStatus{Capacity: room, Allocatable: room, Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
		}
		if i%10 == 9 {
			n.Labels["pool"] = "data"
			n.Spec.Taints = []v1.Taint{{Key: "dedicated", Value: "data", Effect: v1.TaintEffectNoSchedule}}
		}
		n.Spec.Unschedulable = i%15 == 7
		_, err := w.api.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{})
		require.NoError(w.t, err)
	}
	for _, name := range []string{"shop", "data", "batch"} {
		w.namespace(name)
	}
	_, err := w.api.SchedulingV1().PriorityClasses().Create(ctx, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "important"}, Value: 1000}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	var list []*v1.Pod
	for k := range pods / perService {
		list = append(list, w.service(k, nodes)...)
	}
	w.pods(list)
}

// service creates a Deployment with its ReplicaSet, a Service and sometimes a budget, and returns its pods.
func (w *world) service(k, nodes int) (out []*v1.Pod) {
	w.t.Helper()
	ctx, namespace, name := w.t.Context(), []string{"shop", "data", "batch"}[k%3], fmt.Sprintf("service-%03d", k)
	app := map[string]string{"app": name}
	selector := &metav1.LabelSelector{MatchLabels: app}
	spec := v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: fmt.Sprintf("example.com/image-%d", k%5), Resources: v1.ResourceRequirements{Requests: requests(fmt.Sprintf("%dm", 100+k%7*100), fmt.Sprintf("%dMi", 256*(1+k%5)))}}}}
	spec.TerminationGracePeriodSeconds = ptr.To[int64](int64(k%4) * 10)
	switch k % 6 {
	case 0:
		spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 2, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: selector}}
	case 1:
		spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{LabelSelector: selector, TopologyKey: v1.LabelHostname}}}}
	case 2:
		spec.NodeSelector = map[string]string{"pool": "web"}
	case 3:
		spec.PriorityClassName = "important"
	}
	waits := k%10 == 5
	if waits {
		switch k / 10 % 4 {
		case 0:
			spec.Containers[0].Resources.Requests = requests("9", "1Gi")
		case 1:
			spec.NodeSelector = map[string]string{"disktype": "nvme"}
		case 2:
			spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/wait"}}
		}
	}
	template := v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: app}, Spec: spec}
	d, err := w.api.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](perService), Selector: selector, Template: template}}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	owner := func(kind, name string, o metav1.Object) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: o.GetUID(), Controller: ptr.To(true)}}
	}
	r, err := w.api.AppsV1().ReplicaSets(namespace).Create(ctx, &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name + "-6d4b75cb6d", OwnerReferences: owner("Deployment", name, d)}, Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](perService), Selector: selector, Template: template}}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	_, err = w.api.CoreV1().Services(namespace).Create(ctx, &v1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.ServiceSpec{Selector: app, Ports: []v1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	if k%3 == 1 {
		least := intstr.FromInt32(perService - 2)
		_, err = w.api.PolicyV1().PodDisruptionBudgets(namespace).Create(ctx, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &least, Selector: selector}}, metav1.CreateOptions{})
		require.NoError(w.t, err)
	}
	for i := range perService {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%05d", r.Name, i), Labels: app, OwnerReferences: owner("ReplicaSet", r.Name, r)}, Spec: *spec.DeepCopy()}
		if !waits {
			at := (k*7 + i) % nodes
			for at%10 == 9 || at%15 == 7 {
				at = (at + 1) % nodes
			}
			p.Spec.NodeName = nodeName(at)
		}
		out = append(out, p)
	}
	return out
}
