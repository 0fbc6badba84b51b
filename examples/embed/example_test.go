package embed_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/examples/embed"
)

func node(name, cpu string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}},
		Status:     v1.NodeStatus{Allocatable: v1.ResourceList{"cpu": resource.MustParse(cpu), "pods": resource.MustParse("110")}},
	}
}

func spec(cpu string) v1.PodSpec {
	return v1.PodSpec{Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse(cpu)}}}}}
}

func web(replicas int, cpu string) embed.Workload {
	return embed.Workload{Namespace: "shop", Name: "web", Replicas: replicas, Template: v1.PodTemplateSpec{Spec: spec(cpu)}}
}

// A controller that writes conditions before it creates pods.
func Example() {
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	c, err := embed.New(func(workload string, c embed.Condition) error {
		fmt.Println(workload, c.Count, c.Nodes, c.Message)
		for _, d := range c.Details {
			fmt.Println("  " + d)
		}
		return nil
	})
	check(err)
	closed := node("n2", "8")
	closed.Spec.Unschedulable = true
	check(c.Set(node("n1", "4")))
	check(c.Set(closed))
	running := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}, Spec: spec("3")}
	running.Spec.NodeName = "n1"
	check(c.Set(running))
	c.SetWorkload(web(3, "2"))
	check(c.Reconcile())
	check(c.Remove(running))
	check(c.Reconcile())
	check(c.Set(node("n2", "8")))
	check(c.Reconcile())
	// Output:
	// shop/web 0 [] 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.
	//   n1: NodeResourcesFit: Insufficient cpu; cpu: asks for 2, 1 of 4 are free
	//   n2: NodeUnschedulable: node(s) were unschedulable
	// shop/web 2 [n1 n1] 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.
	// shop/web 3 [n2 n1 n2]
}
