// Command spread places replicas evenly over three zones of different size, and removes some so that the rest stays even.
// Kubernetes places pod by pod, and removes without a look at zones.
//
//	go run ./examples/spread
package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/spread"
)

func main() {
	snapshot, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{node("n1", "a", "8"), node("n2", "a", "4"), node("n3", "b", "4"), node("n4", "c", "8")}})
	if err != nil {
		panic(err)
	}
	hard, err := spread.CompileHard(web(0), spread.Options{})
	if err != nil {
		panic(err)
	}
	cpuMilli, _ := overhead.NonZeroIncoming(web(0))
	room := func(i int) int {
		return int((snapshot.Allocatable(i).At(resources.CPU) - snapshot.Requested(i).At(resources.CPU)) / cpuMilli)
	}

	slots, proven := hard.Count(snapshot).Place(9, spread.PlaceOptions{Room: room})
	fmt.Printf("9 replicas wanted, %d have a place; no order places more: %v\n", len(slots), proven)
	var replicas []spread.Replica
	for k, slot := range slots {
		pod := web(k)
		if err := snapshot.Assume(pod, slot); err != nil {
			panic(err)
		}
		replicas = append(replicas, spread.Replica{Pod: pod, Slot: slot})
		fmt.Print(" ", pod.Name, ":", snapshot.Node(slot).Name)
	}
	fmt.Println()
	fmt.Print(hard.Count(snapshot).Report()[0])

	fmt.Println("3 replicas leave")
	for _, r := range hard.Count(snapshot).ScaleDownOrder(replicas, 3) {
		fmt.Print(" ", r.Pod.Name, ":", snapshot.Node(r.Slot).Name)
		if err := snapshot.Remove(r.Pod); err != nil {
			panic(err)
		}
	}
	fmt.Println()
	fmt.Print(hard.Count(snapshot).Report()[0])
}

func node(name, zone, cpu string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelTopologyZone: zone}}}
	n.Status.Allocatable = v1.ResourceList{"cpu": resource.MustParse(cpu), "pods": resource.MustParse("110")}
	return n
}

// web returns a replica that requests 2 cpu. A zone may have one replica more than the emptiest zone.
func web(k int) *v1.Pod {
	name := fmt.Sprint("web-", k)
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), Labels: map[string]string{"app": "web"}}}
	p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("2")}}}}
	p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: v1.LabelTopologyZone,
		WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels}}}
	return p
}
