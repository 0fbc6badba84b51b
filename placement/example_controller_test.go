package placement_test

import (
	"fmt"
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/placement"
)

// nodeCache is a cache that a controller may have already: nodes in a list, pods by the name of their node. Three
// methods make the cache a placement.View.
type nodeCache struct {
	nodes []*v1.Node
	pods  map[string][]*v1.Pod
}

func (c *nodeCache) Len() int                     { return len(c.nodes) }
func (c *nodeCache) Node(i int) *v1.Node          { return c.nodes[i] }
func (c *nodeCache) Pods(i int) iter.Seq[*v1.Pod] { return slices.Values(c.pods[c.nodes[i].Name]) }

// reconcile prints whether a pending pod will get a node, and which changes would help if the pod gets none. It asks
// before the pod is created.
func (c *nodeCache) reconcile(pod *v1.Pod) error {
	plan, err := placement.New(placement.Rows(c), placement.DefaultProfile())
	if err != nil {
		return err
	}
	if d := plan.Decide(pod, placement.Options{}); d.Placed() {
		fmt.Printf("%s: goes to %s\n", pod.Name, d.Node)
		return nil
	} else if d.Failure.Err != nil {
		return d.Failure.Err
	} else {
		fmt.Printf("%s: %s\n", pod.Name, d.Failure.Text())
	}
	table, err := plan.Table(pod)
	for _, n := range table {
		for _, r := range n.Rejections {
			fmt.Printf("  %s %s: %v %v\n", n.Node, r.Plugin, r.Reasons, r.Numbers)
		}
	}
	return err
}

// A controller that uses its own node cache as the cluster.
func Example_controller() {
	cache := &nodeCache{pods: map[string][]*v1.Pod{}}
	for _, name := range []string{"n1", "n2"} {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"disk": "ssd"}}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourcePods: resource.MustParse("110")}
		cache.nodes = append(cache.nodes, n)
	}
	cache.nodes[1].Spec.Unschedulable = true
	web := func(name, cpu string) *v1.Pod {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}}}}
		return p
	}
	cache.pods["n1"] = []*v1.Pod{web("web-1", "2500m")}
	for _, pod := range []*v1.Pod{web("web-2", "1"), web("web-3", "2")} {
		if err := cache.reconcile(pod); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// web-2: goes to n1
	// web-3: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.
	//   n1 NodeResourcesFit: [Insufficient cpu] [cpu: asks for 2, 1500m of 4 are free]
	//   n2 NodeUnschedulable: [node(s) were unschedulable] []
}
