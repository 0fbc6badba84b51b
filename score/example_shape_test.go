package score_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/score"
)

// A shape is a function from the utilization of a node, in percent, to its score. The first packs pods onto full nodes. The second
// likes nodes that are 80 percent full.
func ExampleShapeAt() {
	pack := score.ShapeAt([]score.Point{{Utilization: 0, Score: 0}, {Utilization: 100, Score: 10}})
	most := score.ShapeAt([]score.Point{{Utilization: 0, Score: 2}, {Utilization: 80, Score: 10}, {Utilization: 100, Score: 4}})
	for _, utilization := range []int64{0, 37, 80, 90, 100} {
		fmt.Println(utilization, pack(utilization), most(utilization))
	}
	// Output:
	// 0 0 20
	// 37 37 57
	// 80 80 100
	// 90 90 70
	// 100 100 40
}

// best is the program of the package comment.
func best(pod *v1.Pod, snapshot score.Rows, feasible []int, names []string) error {
	fit, err := score.CompileAllocation(pod, score.FitArgs{}) // once for equal pods
	if err != nil {
		return err
	}
	state := fit.On(snapshot) // once per cluster
	column := score.Column{Plugin: state.Name(), Weight: 1}
	for _, i := range feasible {
		column.Scores = append(column.Scores, state.Raw(i))
	}
	totals, err := score.Totals(names, []score.Column{column}, nil)
	if err != nil {
		return err
	}
	best := score.Best(totals, nil) // a position in feasible
	fmt.Println(names[best], totals[best])
	return nil
}

// Of two empty nodes the larger one keeps more of its resources free.
func ExampleBest() {
	node := func(name, cpu string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: v1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("8Gi")}}}
	}
	snapshot, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{node("small", "2"), node("large", "8")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("1")}}}}}}
	fmt.Println(best(pod, snapshot, []int{0, 1}, []string{"small", "large"}))
	// Output:
	// large 92
	// <nil>
}
