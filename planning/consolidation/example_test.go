package consolidation_test

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/planning/consolidation"
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
	s, err := cluster.New(cluster.Objects{
		Nodes:       []*v1.Node{node("n1", "a", "4"), node("n2", "a", "4"), node("n3", "b", "4"), node("n4", "b", "4"), node("n5", "c", "4")},
		Pods:        append(append(webPods, dbPods...), gpuPods...),
		ReplicaSets: []*appsv1.ReplicaSet{web, db, gpu},
	})
	if err != nil {
		panic(err)
	}
	return s
}

// Pods ask for 10.5 CPUs, so that at least three nodes of 4 must stay, and three are enough.
func ExamplePlanner_Plan() {
	planner, err := consolidation.New(consolidation.Input{Snapshot: snapshot(), Hold: consolidation.HeldByAnnotation})
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := planner.Plan(consolidation.Options{Steps: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	for k, wave := range plan.Waves {
		for _, m := range wave {
			fmt.Printf("wave %d: %s from %s to %s (%s)\n", k+1, m.Pod.Name, m.From, m.To, m.Way)
		}
	}
	for _, n := range plan.Nodes {
		fmt.Println("remove", n.Node)
	}
	fmt.Printf("cost %d, then %d; no plan is below %d; gap %.0f %%\n", plan.Before, plan.After, plan.Bound, 100*plan.Gap())
	// Output:
	// wave 1: web-1 from n1 to n3 (Surge)
	// wave 1: web-2 from n2 to n5 (Surge)
	// remove n1
	// remove n2
	// cost 5, then 3; no plan is below 3; gap 0 %
}
