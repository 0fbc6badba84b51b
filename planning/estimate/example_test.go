package estimate_test

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/estimate"
)

// How many workers does each node take, beside a leader?
func ExampleEstimator_PerNode() {
	list := func(cpu, pods string) v1.ResourceList {
		return v1.ResourceList{"cpu": resource.MustParse(cpu), "pods": resource.MustParse(pods)}
	}
	snapshot, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{
		{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: v1.NodeStatus{Allocatable: list("8", "110")}},
		{ObjectMeta: metav1.ObjectMeta{Name: "n2"}, Status: v1.NodeStatus{Allocatable: list("4", "110")}},
	}})
	if err != nil {
		panic(err)
	}
	estimator, err := estimate.New(estimate.Input{Snapshot: snapshot, Profile: placement.DefaultProfile()})
	if err != nil {
		panic(err)
	}
	pod := func(name, cpu string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name}, Spec: v1.PodSpec{Containers: []v1.Container{
			{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse(cpu)}}}}}}
	}
	counts, err := estimator.PerNode(estimate.Question{Worker: pod("worker", "1500m"), Leader: pod("leader", "3")})
	if err != nil {
		panic(err)
	}
	for _, c := range counts {
		fmt.Println(c.Node, "alone", c.Alone, "leader", c.Leader, "beside", c.Beside, "then", c.Stop.Reason)
	}
	// Output:
	// n1 alone 5 leader true beside 3 then Insufficient cpu
	// n2 alone 2 leader true beside 0 then Insufficient cpu
}

// Which nodes can take a pod, and why the others cannot? Room is held for a workload that is on its way.
func ExampleEstimator_Feasible() {
	snapshot, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{
		{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: v1.NodeStatus{Allocatable: v1.ResourceList{"cpu": resource.MustParse("4"), "pods": resource.MustParse("110")}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "n2"}, Spec: v1.NodeSpec{Taints: []v1.Taint{{Key: "dedicated", Value: "ml", Effect: v1.TaintEffectNoSchedule}}},
			Status: v1.NodeStatus{Allocatable: v1.ResourceList{"cpu": resource.MustParse("4"), "pods": resource.MustParse("110")}}},
	}})
	if err != nil {
		panic(err)
	}
	estimator, err := estimate.New(estimate.Input{Snapshot: snapshot, Profile: placement.DefaultProfile()})
	if err != nil {
		panic(err)
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "train"}, Spec: v1.PodSpec{Containers: []v1.Container{
		{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("3")}}}}}}
	show := func() {
		answer, err := estimator.Feasible(pod, nil)
		if err != nil {
			panic(err)
		}
		fmt.Println(answer.Nodes)
		for _, r := range answer.Refused {
			fmt.Println(" ", r.Nodes, r.Plugin, r.Reason)
		}
	}
	show()
	_, release, err := estimator.Assume([]estimate.Component{{Name: "serving", Pod: pod, Replicas: 1}})
	if err != nil {
		panic(err)
	}
	show()
	if err := release(); err != nil {
		panic(err)
	}
	slot, _, err := estimator.FirstFit(pod, slices.Values([]int{1, 0}), nil)
	fmt.Println(snapshot.Node(slot).Name, err)
	// Output:
	// [n1]
	//   1 TaintToleration dedicated=ml:NoSchedule
	// []
	//   1 NodeResourcesFit Insufficient cpu
	//   1 TaintToleration dedicated=ml:NoSchedule
	// n1 <nil>
}
