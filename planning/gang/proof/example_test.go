package proof_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/planning/gang/proof"
	"github.com/podberth/podberth/podgroup"
)

// A placement is what deciding member after member accepts; a proof is what the cluster has.
func ExampleCheckPlacement() {
	offers := v1.ResourceList{v1.ResourceCPU: resource.MustParse("3"), v1.ResourcePods: resource.MustParse("10")}
	var nodes []*v1.Node
	for _, name := range []string{"n1", "n2"} {
		nodes = append(nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: offers}})
	}
	three, group := int32(3), "train"
	s, err := cluster.New(cluster.Objects{Nodes: nodes,
		PodGroups: []*podgroup.Group{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: group}, Spec: podgroup.Spec{Minimum: &three}}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	q := proof.Question{Snapshot: s}
	for _, name := range []string{"a", "b", "c"} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
		pod.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}}}}
		q.Queued = append(q.Queued, pod)
	}
	fmt.Println(proof.CheckPlacement(q, []proof.Place{{Pod: "default/a", Node: "n1"}, {Pod: "default/b", Node: "n1"}}))

	room := &proof.Room{Kind: proof.ByNodes, Need: 3, Most: 2, Parts: []proof.Part{{Name: "n1", Most: 1}, {Name: "n2", Most: 1}}}
	a := proof.Absence{Group: "podgroup/default/train", Domains: []proof.Domain{{Nodes: 2, Room: room}}}
	fmt.Println(proof.CheckAbsence(q, a, proof.Bound{}))
	// Output:
	// gang: places[1]: Invalid value: node n1 does not take pod default/b: Insufficient cpu
	// <nil>
}
