package score_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/score"
)

// shop returns a cluster of five nodes with 4 cpu and 8Gi each, in the zones a (n1, n2), b (n3, n4) and c (n5). n5 has two
// GPUs. Pods db and web run on n1 and n2, and n1 has the image of web.
func shop() (*cluster.Snapshot, error) {
	var o cluster.Objects
	for i, zone := range []string{"a", "a", "b", "b", "c"} {
		o.Nodes = append(o.Nodes, &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i+1), Labels: map[string]string{v1.LabelTopologyZone: zone}},
			Status:     v1.NodeStatus{Allocatable: list("4", "8Gi", "")},
		})
	}
	o.Nodes[4].Status.Allocatable = list("4", "8Gi", "2")
	o.Nodes[0].Status.Images = []v1.ContainerImage{{Names: []string{"registry.example.com/web:2"}, SizeBytes: 800 << 20}}
	db, web := exampleOf("db", list("2", "6Gi", "")), exampleOf("web", list("2", "2Gi", ""))
	db.Spec.NodeName, web.Spec.NodeName = "n1", "n2"
	o.Pods = []*v1.Pod{db, web}
	return cluster.New(o)
}

func list(cpu, memory, gpus string) v1.ResourceList {
	l := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
	if gpus != "" {
		l["nvidia.com/gpu"] = resource.MustParse(gpus)
	}
	return l
}

func exampleOf(name string, requests v1.ResourceList) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main", Image: "registry.example.com/" + name + ":2",
			Resources: v1.ResourceRequirements{Requests: requests}}}},
	}
}

// The emptiest node has the highest score of NodeResourcesFit.
func Example() {
	shop, err := shop()
	if err != nil {
		fmt.Println(err)
		return
	}
	fit, err := score.CompileAllocation(exampleOf("web-2", list("1", "1Gi", "")), score.FitArgs{})
	if err != nil {
		fmt.Println(err)
		return
	}
	state := fit.On(shop)
	names, column := []string{}, score.Column{Plugin: state.Name(), Weight: 1}
	for i := range shop.Len() {
		names = append(names, shop.Node(i).Name)
		column.Scores = append(column.Scores, state.Raw(i))
	}
	totals, err := score.Totals(names, []score.Column{column}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(totals, names[score.Best(totals, nil)])
	// Output: [18 43 81 81 81] n3
}

// RequestedToCapacityRatio with a rising shape packs GPUs: resources that the pod does not ask for do not count.
func ExampleCompileAllocation() {
	shop, err := shop()
	if err != nil {
		fmt.Println(err)
		return
	}
	gpu := exampleOf("gpu", list("1", "2Gi", "1"))
	fit, err := score.CompileAllocation(gpu, score.FitArgs{ScoringStrategy: &score.Strategy{
		Type:                     score.RequestedToCapacityRatio,
		Resources:                []score.Resource{{Name: "nvidia.com/gpu", Weight: 3}, {Name: "cpu", Weight: 1}},
		RequestedToCapacityRatio: &score.Ratio{Shape: []score.Point{{Utilization: 0, Score: 0}, {Utilization: 100, Score: 10}}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	state := fit.On(shop)
	fmt.Println(state.Raw(4))
	for _, r := range state.Explain(4) {
		fmt.Println(r.Name, r.Weight, r.Requested, "of", r.Allocatable, "is", r.Score)
	}
	// Output:
	// 44
	// nvidia.com/gpu 3 1 of 2 is 50
	// cpu 1 1000 of 4000 is 25
}

// On n1 more memory than cpu is in use, on n2 more cpu than memory. A pod that needs cpu alone improves the balance of n1.
func ExampleCompileBalance() {
	shop, err := shop()
	if err != nil {
		fmt.Println(err)
		return
	}
	balance, err := score.CompileBalance(exampleOf("web-2", list("1", "0", "")), score.BalanceArgs{})
	if err != nil || balance.Skip() {
		fmt.Println(err)
		return
	}
	state := balance.On(shop)
	for i := range 2 {
		with, without := state.Explain(i)
		fmt.Println(shop.Node(i).Name, state.Raw(i), "balance", without, "becomes", with)
	}
	// Output:
	// n1 81 balance 87 becomes 100
	// n2 69 balance 87 becomes 75
}

// A node that has the image already is preferred, the more the larger the image is.
func ExampleCompileImages() {
	shop, err := shop()
	if err != nil {
		fmt.Println(err)
		return
	}
	state := score.CompileImages(exampleOf("web", nil), release.Current).On(shop)
	fmt.Println(state.Raw(0), state.Raw(1))
	// Output: 14 0
}

// Two plugins and an extender: the extender's scores of 0 to 10 count ten times its weight.
func ExampleTotals() {
	names := []string{"n1", "n3", "n5"}
	columns := []score.Column{
		{Plugin: "TaintToleration", Weight: 3, Scores: []int64{67, 100, 0}},
		{Plugin: "NodeResourcesFit", Weight: 1, Scores: []int64{50, 20, 90}},
	}
	extender := score.Column{Plugin: "gpu", Weight: 2, Hosts: []string{"n5"}, Scores: []int64{10}}
	totals, err := score.Totals(names, columns, []score.Column{extender})
	fmt.Println(totals, err)
	fmt.Println(names[score.Best(totals, nil)])
	// Output:
	// [251 320 290] <nil>
	// n3
}

// Why n3 was chosen, and which weight would have to change for another choice.
func ExampleExplain() {
	names := []string{"n3", "n5"}
	columns := []score.Column{
		{Plugin: "TaintToleration", Weight: 3, Raw: []int64{0, 0}, Scores: []int64{100, 100}},
		{Plugin: "NodeResourcesFit", Weight: 1, Raw: []int64{87, 90}, Scores: []int64{87, 90}},
		{Plugin: "ImageLocality", Weight: 1, Raw: []int64{5, 0}, Scores: []int64{5, 0}},
	}
	x, err := score.Explain(names, columns, nil, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(x)
	// Output:
	// n3 392, runner-up n5 390, lead 2
	// plugin                              raw  score weight weighted runner-up  share
	// TaintToleration                       0    100      3      300       300     0%
	// NodeResourcesFit                     87     87      1       87        90  -150%
	// ImageLocality                         5      5      1        5         0   250%
	// n5 wins when the weight of NodeResourcesFit goes from 1 to 2
}

// v1.36 names every field that is wrong.
func ExampleValidateFitArgs() {
	strategy := score.Strategy{Resources: []score.Resource{{Name: "cpu", Weight: 101}}}
	for _, err := range score.ValidateFitArgs(score.FitArgs{ScoringStrategy: &strategy}, nil) {
		fmt.Println(err)
	}
	// Output:
	// scoringStrategy.type: Unsupported value: "": supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"
	// scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range (0, 100]
}
