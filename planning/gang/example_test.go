package gang_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/planning/gang"
	"github.com/podberth/podberth/planning/gang/proof"
	"github.com/podberth/podberth/podgroup"
)

// kube-scheduler puts the small member on the big node, where it scores best, and finds no place for the big member.
func ExampleFind() {
	node := func(name, cpu string) *v1.Node {
		offers := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourcePods: resource.MustParse("10")}
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: offers}}
	}
	member := func(name, cpu string) *v1.Pod {
		pod, group := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}, "train"
		pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
		pod.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}}}}
		return pod
	}
	two := int32(2)
	snapshot, err := cluster.New(cluster.Objects{
		Nodes:     []*v1.Node{node("big", "4"), node("small", "2")},
		PodGroups: []*podgroup.Group{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "train"}, Spec: podgroup.Spec{Minimum: &two}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	q := proof.Question{Snapshot: snapshot, Queued: []*v1.Pod{member("a", "2"), member("b", "4")}}
	a, err := gang.Find(q, gang.Options{})
	fmt.Println(a.Outcome, err)
	for _, p := range a.Places {
		fmt.Println(p.Pod, p.Node)
	}
	fmt.Println(proof.CheckPlacement(q, a.Places))

	q.Queued[0] = member("a", "3")
	a, err = gang.Find(q, gang.Options{})
	fmt.Println(a.Outcome, err)
	room := a.Absence.Domains[0].Room
	fmt.Println(room.Resource, room.Free, "free,", room.Least, "needed")
	fmt.Println(proof.CheckAbsence(q, *a.Absence, proof.Bound{}))
	// Output:
	// exists <nil>
	// default/b big
	// default/a small
	// <nil>
	// none <nil>
	// cpu 6000 free, 7000 needed
	// <nil>
}
