// First asks one question: does this pod fit on this node, and if not, why?
package main

import (
	"fmt"
	"log"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
)

func main() {
	size := v1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110")}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: v1.NodeStatus{Allocatable: size}}
	container := v1.Container{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("6")}}}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodSpec{Containers: []v1.Container{container}}}

	snapshot, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{node}})
	if err != nil {
		log.Fatal(err)
	}
	placer, err := placement.NewPlacer(snapshot, placement.DefaultProfile())
	if err != nil {
		log.Fatal(err)
	}
	if d := placer.Decide(pod, placement.Options{}); d.Placed() {
		fmt.Println(pod.Name, "goes to", d.Node)
	} else {
		fmt.Println(pod.Name, "waits:", d.Failure.Text()) // web waits: 0/1 nodes are available: 1 Insufficient cpu.
	}
}
