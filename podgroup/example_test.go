package podgroup_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/podgroup"
)

// Three members are needed. One is placed, one failed, and one was not tried yet: trying it is of no use.
func ExampleQuorum() {
	q := podgroup.Quorum{Minimum: 3, Scheduled: 1, Remaining: 1}
	fmt.Println(q.State() == podgroup.Unsatisfiable)
	fmt.Println(q.Text())
	// Output:
	// true
	// minCount (3) cannot be satisfied: 1 scheduled, 1 remaining
}

type cluster []*v1.Node

func (c cluster) Node(i int) *v1.Node { return c[i] }

// A group that must stay in one zone has a placement for each zone. Members that run already fix the zone.
func ExamplePlacements() {
	node := func(name, zone string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": zone}}}
	}
	nodes := cluster{node("n1", "a"), node("n2", "b"), node("n3", "a")}
	running := func(yield func(*v1.Pod, int) bool) { yield(&v1.Pod{}, 1) }
	none := func(func(*v1.Pod, int) bool) {}

	all, _ := podgroup.Placements(nodes, []int{0, 1, 2}, "zone", none)
	fixed, _ := podgroup.Placements(nodes, []int{0, 1, 2}, "zone", running)
	fmt.Println(all)
	fmt.Println(fixed)
	// Output:
	// [{a [0 2]} {b [1]}]
	// [{b [1]}]
}

// The placement with the most members and the fewest free resources is best.
func ExampleUtilization() {
	counts := podgroup.PodCounts([]int{1, 2})
	a := podgroup.Utilization([]podgroup.Amount{{Requested: 1000, Allocatable: 1000, Weight: 1}}) + counts[0]
	b := podgroup.Utilization([]podgroup.Amount{{Requested: 2000, Allocatable: 8000, Weight: 1}}) + counts[1]
	fmt.Println(a, b)
	// Output: 150 125
}

// All members have the priority of their group.
func ExampleCheck() {
	five := int32(5)
	pod := &v1.Pod{Spec: v1.PodSpec{Priority: &five}}
	fmt.Println(podgroup.Check(&podgroup.Spec{}, []*v1.Pod{pod}, nil, podgroup.Gates{}))
	// Output: all pods in a single pod group should have the same priority as the pod group's priority, got 5 and 0
}

// The API server refuses a gang of none.
func ExampleValidateGroup() {
	none := int32(0)
	fmt.Println(podgroup.ValidateGroup(&podgroup.Group{Spec: podgroup.Spec{Minimum: &none}}, nil).ToAggregate())
	// Output: spec.schedulingPolicy.gang.minCount: Required value
}
