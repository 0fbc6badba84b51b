package podberth_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
)

// Three pods, two nodes.
func Example() {
	node := func(name, zone, cpu string) *v1.Node {
		return &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelTopologyZone: zone}},
			Status:     v1.NodeStatus{Allocatable: v1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110")}},
		}
	}
	pod := func(name, cpu string) *v1.Pod {
		return &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": "web"}},
			Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse(cpu)}}}}},
		}
	}
	snapshot, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{node("n1", "a", "4"), node("n2", "b", "8")}})
	if err != nil {
		panic(err)
	}
	placer, err := placement.NewPlacer(snapshot, placement.DefaultProfile())
	if err != nil {
		panic(err)
	}
	for _, p := range []*v1.Pod{pod("web-1", "6"), pod("web-2", "3"), pod("web-3", "3")} {
		d := placer.Decide(p, placement.Options{})
		if !d.Placed() {
			fmt.Println(p.Name, "stays:", d.Failure.Text())
			continue
		}
		fmt.Println(p.Name, "goes to", d.Node)
		if err := placer.Assume(p, d); err != nil {
			panic(err)
		}
	}
	// Output:
	// web-1 goes to n2
	// web-2 goes to n1
	// web-3 stays: 0/2 nodes are available: 2 Insufficient cpu.
}
