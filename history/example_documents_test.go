package history_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/history"
	"github.com/podberth/podberth/score"
)

// The documentation of v1.16 packs a pod that asks for 2 intel.com/foo, 256 MB and 2 cpu: node 1 scores 5 and node 2 scores 7. v1.36
// gives 60 and 69 for the same arguments. The reversed shape, whose scores go to 10 and not to 100, prefers free resources. Node 2 is
// not behind all the same: its cpu is used up and scores 0, and a resource that scores 0 does not count.
func Example_binPacking() {
	list := func(foo, memory, cpu string) v1.ResourceList {
		return v1.ResourceList{"intel.com/foo": resource.MustParse(foo), "memory": resource.MustParse(memory), "cpu": resource.MustParse(cpu), "pods": resource.MustParse("110")}
	}
	pod := func(name, node string, asks v1.ResourceList) *v1.Pod {
		delete(asks, "pods")
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: v1.PodSpec{NodeName: node}}
		p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: asks}}}
		return p
	}
	node := func(name string, has v1.ResourceList) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: has}}
	}
	snapshot, err := cluster.New(cluster.Objects{
		Nodes: []*v1.Node{node("node1", list("4", "1024M", "8")), node("node2", list("8", "1024M", "8"))},
		Pods:  []*v1.Pod{pod("a", "node1", list("1", "256M", "1")), pod("b", "node2", list("2", "512M", "6"))},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	packed := pod("packed", "", list("2", "256M", "2"))
	for _, shape := range [][]score.Point{
		{{Utilization: 0, Score: 0}, {Utilization: 100, Score: 10}},
		{{Utilization: 0, Score: 10}, {Utilization: 100, Score: 0}},
	} {
		args := score.FitArgs{ScoringStrategy: &score.Strategy{
			Type:                     score.RequestedToCapacityRatio,
			Resources:                []score.Resource{{Name: "intel.com/foo", Weight: 5}, {Name: "memory", Weight: 1}, {Name: "cpu", Weight: 3}},
			RequestedToCapacityRatio: &score.Ratio{Shape: shape},
		}}
		then, err := history.ZeroToTen(packed, args, snapshot)
		if err != nil {
			fmt.Println(err)
			return
		}
		now, err := score.CompileAllocation(packed, args)
		if err != nil {
			fmt.Println(err)
			return
		}
		state := now.On(snapshot)
		fmt.Println("v1.16:", then.Raw(0), then.Raw(1), "v1.36:", state.Raw(0), state.Raw(1))
	}
	// Output:
	// v1.16: 5 7 v1.36: 60 69
	// v1.16: 5 5 v1.36: 40 46
}
