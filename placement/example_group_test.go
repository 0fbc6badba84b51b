package placement_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
)

// A gang of three needs 3 cpu. A node of 2 cpu is not enough: nobody is placed. With a second node everybody is.
func ExamplePlacer_DecideGroup() {
	node := func(name string) *v1.Node {
		offers := v1.ResourceList{v1.ResourceCPU: resource.MustParse("2"), v1.ResourcePods: resource.MustParse("10")}
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: offers}}
	}
	three, name := int32(3), "gang"
	var queued []*v1.Pod
	for _, n := range []string{"a", "b", "c"} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: n}}
		pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name}
		pod.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}}}}
		queued = append(queued, pod)
	}
	gang := &podgroup.Group{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: podgroup.Spec{Minimum: &three}}
	snapshot, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{node("n1")}, PodGroups: []*podgroup.Group{gang}})
	if err != nil {
		fmt.Println(err)
		return
	}
	placer, err := placement.NewPlacer(snapshot, placement.DefaultProfile())
	if err != nil {
		fmt.Println(err)
		return
	}
	d := placer.DecideGroup(queued, placement.GroupOptions{})
	fmt.Println(d.Code, d.Groups[0].Message)

	if err := snapshot.Set(node("n2")); err != nil {
		fmt.Println(err)
		return
	}
	d = placer.DecideGroup(queued, placement.GroupOptions{})
	fmt.Println(d.Code, placer.AssumeGroup(d))
	for _, m := range d.Members {
		fmt.Println(m.Pod.Name, m.Node)
	}
	// Output:
	// Unschedulable minCount (3) cannot be satisfied: 2 scheduled, 0 remaining
	// Success <nil>
	// a n1
	// b n2
	// c n1
}
