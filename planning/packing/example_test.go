package packing_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/planning/packing"
)

// exampleNode returns a node with 4 cpu in a zone.
func exampleNode(name, zone string) *v1.Node {
	offered := v1.ResourceList{"cpu": resource.MustParse("4"), "pods": resource.MustParse("110")}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name, v1.LabelTopologyZone: zone}},
		Status:     v1.NodeStatus{Capacity: offered, Allocatable: offered},
	}
}

// examplePod returns a pod that requests cpu. An empty node leaves the pod pending.
func examplePod(name, cpu string, priority int32, node string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec: v1.PodSpec{
			NodeName: node, Priority: &priority, SchedulerName: "default-scheduler",
			Containers: []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{
				Requests: v1.ResourceList{"cpu": resource.MustParse(cpu)},
			}}},
		},
	}
}

// The pod gpu needs a whole node. Every node has a pod of the same or a higher priority, so that kube-scheduler leaves gpu pending.
// n1 and n3 have room for each other's pods: one move makes a node free.
func ExamplePack() {
	snapshot, err := cluster.New(cluster.Objects{
		Nodes: []*v1.Node{exampleNode("n1", "a"), exampleNode("n2", "a"), exampleNode("n3", "b"), exampleNode("n4", "b"), exampleNode("n5", "c")},
		Pods: []*v1.Pod{
			examplePod("web-1", "1", 100, "n1"), examplePod("db-1", "4", 100, "n2"), examplePod("web-2", "3", 100, "n3"),
			examplePod("db-2", "4", 100, "n4"), examplePod("db-3", "4", 100, "n5"),
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := packing.Pack(packing.Input{Snapshot: snapshot, Pending: []*v1.Pod{examplePod("gpu", "4", 100, "")}}, packing.Options{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range plan.Tiers {
		fmt.Printf("priority %d: %d pods, kube-scheduler places %d, the plan %d, at most %d\n", t.Priority, t.Pods, t.Default, t.Placed, t.Bound)
	}
	for _, a := range plan.Actions {
		fmt.Printf("%s: %q to %q\n", a.Pod, a.From, a.To)
	}
	fmt.Println("no better plan exists:", plan.Optimal)
	// Output:
	// priority 100: 6 pods, kube-scheduler places 5, the plan 6, at most 6
	// default/web-1: "n1" to "n3"
	// default/gpu: "" to "n1"
	// no better plan exists: true
}
