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

// NodeResourcesFit gave scores of 0 to 10 before it gave scores of 0 to 100.
func ExampleZeroToTen() {
	var nodes []*v1.Node
	for k, cpu := range []string{"2", "4", "8", "16", "32"} {
		amounts := v1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110")}
		nodes = append(nodes, &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", k+1)}, Status: v1.NodeStatus{Capacity: amounts, Allocatable: amounts},
		})
	}
	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes})
	if err != nil {
		fmt.Println(err)
		return
	}
	web := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	web.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("1")}}}}
	then, err := history.ZeroToTen(web, score.FitArgs{}, snapshot)
	if err != nil {
		fmt.Println(err)
		return
	}
	now, err := score.CompileAllocation(web, score.FitArgs{})
	if err != nil {
		fmt.Println(err)
		return
	}
	state := now.On(snapshot)
	for i, n := range nodes {
		fmt.Println(n.Name, then.Raw(i), state.Raw(i))
	}
	// Output:
	// n1 7 73
	// n2 8 86
	// n3 8 92
	// n4 9 95
	// n5 9 96
}
