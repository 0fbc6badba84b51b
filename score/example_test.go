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

// A default plugin that is listed again without a weight counts once instead of three times.
func ExampleResolve() {
	plugins, err := score.Resolve(score.PluginSet{Enabled: []score.Plugin{{Name: "TaintToleration"}}},
		score.PluginSet{Enabled: []score.Plugin{{Name: "TaintToleration", Weight: 3}, {Name: "NodeAffinity", Weight: 2}}}, nil)
	fmt.Println(plugins, err)
	// Output: [{TaintToleration 1} {NodeAffinity 2}] <nil>
}

// Two plugins and an extender: its scores of 0 to 10 count ten times its weight.
func ExampleTotals() {
	names := []string{"a1", "b1", "c1"}
	raw := []int64{1, 0, 3}
	score.Proportional{Reverse: true}.NormalizeAll(raw)
	columns := []score.Column{{Plugin: "TaintToleration", Weight: 3, Scores: raw}, {Plugin: "NodeResourcesFit", Weight: 1, Scores: []int64{50, 20, 90}}}
	extender := score.ExtenderScores{Name: "gpu", Weight: 2, Scores: []score.HostScore{{Host: "c1", Score: 10}}}
	totals, err := score.Totals(names, columns, []score.ExtenderScores{extender})
	fmt.Println(raw, totals, err)
	fmt.Println(names[score.Best(totals, nil)])
	// Output:
	// [67 100 0] [251 320 290] <nil>
	// b1
}

// Nodes that have the image already are preferred, the more the larger it is.
func ExampleCompileImages() {
	nodes := newRows(testkit.Node("a1").Image(800<<20, "registry.example.com/web:2").Obj(), testkit.Node("b1").Obj())
	state := score.CompileImages(testkit.Pod("web-2").Image("registry.example.com/web:2").Obj()).Count(nodes)
	fmt.Println(state.Raw(0), state.Raw(1))
	// Output: 38 0
}

// What a shape is worth at some utilizations.
func ExampleInterpolate() {
	shape := []score.Point{{Utilization: 0, Score: 0}, {Utilization: 70, Score: 10}, {Utilization: 100, Score: 0}}
	for _, utilization := range []int64{35, 70, 85} {
		fmt.Println(score.Interpolate(shape, utilization, score.Options{}))
	}
	// Output:
	// 50 <nil>
	// 100 <nil>
	// 50 <nil>
}

// Who is asked about a pod with a GPU, and what its answer leaves.
func ExampleApplyFilter() {
	gpu := score.Extender{FilterVerb: "filter", ManagedResources: []score.ManagedResource{{Name: "nvidia.com/gpu", IgnoredByScheduler: true}}}
	fmt.Println(gpu.Interested(testkit.Pod("gpu").Request("nvidia.com/gpu=1").Obj()), gpu.Interested(testkit.Pod("web").Obj()))
	fmt.Println(score.IgnoredByScheduler([]score.Extender{gpu}), score.URL("http://gpu.example.com/scheduler/", gpu.FilterVerb))
	left, err := score.ApplyFilter("http://gpu.example.com/scheduler", score.CacheCapable, []string{"b1", "b2"},
		score.FilterAnswer{NodeNames: []string{"b2"}, FailedNodes: map[string]string{"b1": "no free GPU"}})
	fmt.Println(left.Nodes, left.Failed, err)
	// Output:
	// true false
	// [nvidia.com/gpu] http://gpu.example.com/scheduler/filter
	// [b2] map[b1:no free GPU] <nil>
}

func ExampleValidateFitArgs() {
	args := score.DefaultFitArgs(score.FitArgs{ScoringStrategy: &score.Strategy{Resources: []score.Resource{{Name: "cpu", Weight: 101}}}})
	for _, err := range score.ValidateFitArgs(args, nil) {
		fmt.Println(err)
	}
	// Output:
	// scoringStrategy.type: Unsupported value: "": supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"
	// scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range (0, 100]
}
