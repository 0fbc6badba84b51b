package score_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/score"
)

// threeZones is the cluster of all examples: five nodes in three zones, with a db pod on the first and web pods on two.
func threeZones() (*rows, []string) {
	r := newRows(
		testkit.Node("a1").Zone("a").Capacity("cpu=4,memory=8Gi").Obj(),
		testkit.Node("a2").Zone("a").Capacity("cpu=4,memory=8Gi").Obj(),
		testkit.Node("b1").Zone("b").Capacity("cpu=8,memory=8Gi").Obj(),
		testkit.Node("b2").Zone("b").Capacity("cpu=8,memory=16Gi,nvidia.com/gpu=4").Obj(),
		testkit.Node("c1").Zone("c").Capacity("cpu=4,memory=8Gi").Obj(),
	)
	r.run(0, testkit.Pod("db-0").Request("cpu=2,memory=6Gi").Obj())
	r.run(1, testkit.Pod("web-0").Request("cpu=1,memory=1Gi").Obj())
	r.run(4, testkit.Pod("web-1").Request("cpu=1,memory=1Gi").Obj())
	return r, []string{"a1", "a2", "b1", "b2", "c1"}
}

func Example() {
	cluster, names := threeZones()
	web := testkit.Pod("web-2").Request("cpu=1,memory=1Gi").Obj()

	fit, err := score.CompileAllocation(web, score.FitArgs{}, score.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	balanced, err := score.CompileBalance(web, score.BalanceArgs{}, score.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	free, even := fit.Count(cluster), balanced.Count(cluster)
	columns := []score.Column{{Plugin: "NodeResourcesFit", Weight: 1}, {Plugin: "NodeResourcesBalancedAllocation", Weight: 1}}
	for i := range names {
		columns[0].Scores = append(columns[0].Scores, free.Raw(i))
		columns[1].Scores = append(columns[1].Scores, even.Raw(i))
	}
	totals, err := score.Totals(names, columns, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(names[score.Best(totals, score.LowestName(names))], totals)
	// Output: b2 [96 134 162 163 134]
}

func ExampleExplain() {
	names := []string{"b1", "b2"}
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
	// b1 392, runner-up b2 390, lead 2
	// plugin                              raw  score weight weighted runner-up  share
	// TaintToleration                       0    100      3      300       300     0%
	// NodeResourcesFit                     87     87      1       87        90  -150%
	// ImageLocality                         5      5      1        5         0   250%
	// b2 wins when the weight of NodeResourcesFit goes from 1 to 2
}

// The bin packing example of the documentation, as v1.36 scores it and as the documentation of v1.16 does.
func ExampleCompileAllocation() {
	pod, cluster := packing()
	args := score.FitArgs{ScoringStrategy: &score.Strategy{
		Type:                     score.RequestedToCapacityRatio,
		Resources:                []score.Resource{{Name: "intel.com/foo", Weight: 5}, {Name: "memory"}, {Name: "cpu", Weight: 3}},
		RequestedToCapacityRatio: &score.Ratio{Shape: []score.Point{{Utilization: 0, Score: 0}, {Utilization: 100, Score: 10}}},
	}}
	for _, o := range []score.Options{{}, {Arithmetic: score.ZeroToTen}} {
		e, err := score.CompileAllocation(pod, args, o)
		if err != nil {
			fmt.Println(err)
			return
		}
		s := e.Count(cluster)
		fmt.Println(s.Raw(0), s.Raw(1))
	}
	// Output:
	// 60 69
	// 5 7
}

func ExampleCheckNames() {
	for _, err := range score.CheckNames([]score.Resource{{Name: "CPU"}, {Name: "intel.com/foo"}}, field.NewPath("resources")) {
		fmt.Println(err)
	}
	// Output: resources[0].name: Invalid value: "CPU": matches no resource: names are case-sensitive, use "cpu"
}

func ExampleReservoir() {
	totals := []int64{7, 9, 9}
	fmt.Println(score.Reservoir(totals, func(n int) int { return n - 1 })) // a source that never draws 0
	// Output: 1
}
