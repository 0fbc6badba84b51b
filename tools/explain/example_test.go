package explain_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/tools/explain"
)

// node returns a node in a zone with an amount of cpu.
func node(name, zone, cpu string, taints ...v1.Taint) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name, v1.LabelTopologyZone: zone}},
		Spec:       v1.NodeSpec{Taints: taints},
		Status: v1.NodeStatus{Allocatable: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse("8Gi"), v1.ResourcePods: resource.MustParse("110"),
		}},
	}
}

// The pod db asks for more cpu than any node without a taint has.
func ExampleOf() {
	own := v1.Taint{Key: "team", Value: "gpu", Effect: v1.TaintEffectNoSchedule}
	snapshot, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{
		node("n1", "a", "4"), node("n2", "a", "4"), node("n3", "b", "2"), node("n4", "b", "16", own), node("n5", "c", "2"),
	}})
	if err != nil {
		panic(err)
	}
	plan, err := placement.New(snapshot, placement.DefaultProfile())
	if err != nil {
		panic(err)
	}
	db := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db"}, Spec: v1.PodSpec{Containers: []v1.Container{{
		Name: "db", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("6")}},
	}}}}
	table, err := plan.Table(db)
	if err != nil {
		panic(err)
	}
	answer := explain.Of(table, explain.Shortage(db, snapshot))
	for _, line := range answer.Lines() {
		fmt.Println(line)
	}
	// Output:
	//   2 nodes: Insufficient cpu: cpu: asks for 6, 4 of 4 are free (NodeResourcesFit)
	//   2 nodes: Insufficient cpu: cpu: asks for 6, 2 of 2 are free (NodeResourcesFit)
	//   1 node: node(s) had untolerated taint(s): team=gpu:NoSchedule rejects (TaintToleration)
	// Nearest: n4 (TaintToleration), n1 (NodeResourcesFit), n2 (NodeResourcesFit)
}
