package failures_test

import (
	"cmp"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/planning/failures"
)

func node(name, zone, cpu string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name, v1.LabelTopologyZone: zone}},
		Status: v1.NodeStatus{Allocatable: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse(cpu), v1.ResourcePods: resource.MustParse("110"),
		}},
	}
}

// app returns a ReplicaSet and a pod of it on each of the nodes.
func app(name, cpu string, nodes ...string) (*appsv1.ReplicaSet, []*v1.Pod) {
	replicas, yes := int32(len(nodes)), true
	labels := map[string]string{"app": name}
	template := v1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: name, Image: name, Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)},
		}}}},
	}
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}
	var pods []*v1.Pod
	for i, n := range nodes {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprintf("%s-%d", name, i+1), Labels: labels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, Controller: &yes}},
		}, Spec: template.Spec}
		p.Spec.NodeName = n
		pods = append(pods, p)
	}
	return set, pods
}

// The cluster of all examples: five nodes in three zones with pods web, db and gpu.
func snapshot() *cluster.Snapshot {
	web, webPods := app("web", "1", "n1", "n2", "n3")
	db, dbPods := app("db", "2", "n3", "n5")
	gpu, gpuPods := app("gpu", "3500m", "n4")
	pods := append(append(webPods, dbPods...), gpuPods...)
	s, err := cluster.New(cluster.Objects{
		Nodes:       []*v1.Node{node("n1", "a", "4"), node("n2", "a", "4"), node("n3", "b", "4"), node("n4", "b", "4"), node("n5", "c", "4")},
		Pods:        pods,
		ReplicaSets: []*appsv1.ReplicaSet{web, db, gpu},
	})
	if err != nil {
		panic(err)
	}
	return s
}

// What happens if each node breaks, the worst first: only the gpu pod does not find another node, because it is too large for
// what the other nodes have left.
func ExamplePlanner_Run() {
	planner, err := failures.New(failures.Input{Snapshot: snapshot()})
	if err != nil {
		fmt.Println(err)
		return
	}
	results, err := planner.Run(planner.Nodes(), failures.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	failures.Worst(results)
	for _, r := range results {
		fmt.Printf("%s: %d lost, %d come back, %d pending\n", r.Name, len(r.Pods), r.Placed, r.Pending)
		for _, g := range r.Groups {
			fmt.Printf("  %s, %d pod(s): %s: %s\n", g.Workload, len(g.Pods), g.Cause, g.Reason)
		}
	}
	// Output:
	// n4: 1 lost, 0 come back, 1 pending
	//   ReplicaSet shop/gpu, 1 pod(s): resources: Insufficient cpu
	// n3: 2 lost, 2 come back, 0 pending
	// n1: 1 lost, 1 come back, 0 pending
	// n2: 1 lost, 1 come back, 0 pending
	// n5: 1 lost, 1 come back, 0 pending
}

// What happens if a zone breaks: where its pods come back.
func ExamplePlanner_By() {
	planner, err := failures.New(failures.Input{Snapshot: snapshot()})
	if err != nil {
		fmt.Println(err)
		return
	}
	results, err := planner.Run(planner.By(v1.LabelTopologyZone), failures.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range results {
		fmt.Println(r.Name)
		for _, o := range r.Pods {
			fmt.Printf("  %s: %s, %s -> %s\n", o.Pod.Name, o.Fate, o.From, cmp.Or(o.Node, "nowhere"))
		}
	}
	// Output:
	// topology.kubernetes.io/zone=a
	//   web-1: Placed, n1 -> n5
	//   web-2: Placed, n2 -> n3
	// topology.kubernetes.io/zone=b
	//   db-1: Placed, n3 -> n1
	//   web-3: Placed, n3 -> n5
	//   gpu-1: Pending, n4 -> nowhere
	// topology.kubernetes.io/zone=c
	//   db-2: Placed, n5 -> n1
}
