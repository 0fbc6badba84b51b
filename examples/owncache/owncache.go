// Command owncache asks which node a pod gets, over the node cache that a scheduler has already.
//
//	go run ./examples/owncache
package main

import (
	"fmt"
	"iter"
	"log"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/placement"
)

// cache is what the scheduler has: its own structs with the objects of the API in them.
type cache []*machine

type machine struct {
	node *v1.Node
	pods []*v1.Pod
}

// Len, Node and Pods make the cache a placement.View. Nothing is copied.
func (c cache) Len() int                     { return len(c) }
func (c cache) Node(i int) *v1.Node          { return c[i].node }
func (c cache) Pods(i int) iter.Seq[*v1.Pod] { return slices.Values(c[i].pods) }

// schedule gives every pod a node, or says why it has none.
func schedule(c cache, pods []*v1.Pod) error {
	for _, pod := range pods {
		plan, err := placement.New(placement.Rows(c), placement.DefaultProfile())
		if err != nil {
			return err
		}
		d := plan.Decide(pod, placement.Options{})
		if !d.Placed() {
			fmt.Println(pod.Name, "waits:", d.Failure.Text())
			continue
		}
		fmt.Println(pod.Name, "goes to", d.Node)
		i := slices.IndexFunc(c, func(m *machine) bool { return m.node.Name == d.Node })
		c[i].pods = append(c[i].pods, pod) // the next decision counts it
	}
	return nil
}

func main() {
	c := cache{{node: node("n1", "4")}, {node: node("n2", "8")}}
	if err := schedule(c, []*v1.Pod{pod("web-1", "6"), pod("web-2", "3"), pod("web-3", "3")}); err != nil {
		log.Fatal(err)
	}
}

func node(name, cpu string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: v1.ResourceList{
		"cpu": resource.MustParse(cpu), "pods": resource.MustParse("110"),
	}}}
}

func pod(name, cpu string) *v1.Pod {
	requests := v1.ResourceList{"cpu": resource.MustParse(cpu)}
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: v1.PodSpec{
		Containers: []v1.Container{{Resources: v1.ResourceRequirements{Requests: requests}}},
	}}
}
