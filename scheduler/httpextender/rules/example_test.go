package rules_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/scheduler/httpextender/rules"
)

// Whether an extender is asked about a pod, and which nodes its answer leaves.
func ExampleApplyFilter() {
	const url = "http://gpu.example.com/scheduler/"
	x := rules.Extender{FilterVerb: "filter", ManagedResources: []rules.ManagedResource{{Name: "nvidia.com/gpu", IgnoredByScheduler: true}}}
	web, gpu := &v1.Pod{}, &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}}}}}}
	fmt.Println(x.Interested(gpu), x.Interested(web))
	fmt.Println(rules.IgnoredByScheduler([]rules.Extender{x}), rules.URL(url, x.FilterVerb))
	left, err := rules.ApplyFilter(url, rules.CacheCapable, []string{"n4", "n5"},
		rules.FilterAnswer{NodeNames: []string{"n5"}, FailedNodes: map[string]string{"n4": "no free GPU"}})
	fmt.Println(left.Nodes, left.Failed, err)
	// Output:
	// true false
	// [nvidia.com/gpu] http://gpu.example.com/scheduler/filter
	// [n5] map[n4:no free GPU] <nil>
}
