package resources_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/resources"
)

// Node n4 has 8 cores, 32 GiB and 2 GPUs. What is left when pod gpu runs there?
func Example() {
	var schema resources.Schema
	free := resources.FromList(&schema, v1.ResourceList{
		"cpu": resource.MustParse("8"), "memory": resource.MustParse("32Gi"), "nvidia.com/gpu": resource.MustParse("2"),
	})
	request := resources.FromList(&schema, v1.ResourceList{
		"cpu": resource.MustParse("500m"), "nvidia.com/gpu": resource.MustParse("1"),
	})
	free.Sub(request)
	fmt.Println("request:", request.Describe(&schema))
	fmt.Println("left:   ", free.Describe(&schema))
	fmt.Println("cpu:    ", free.At(resources.CPU))
	// Output:
	// request: cpu=500m nvidia.com/gpu=1
	// left:    cpu=7500m memory=34359738368 nvidia.com/gpu=1
	// cpu:     7500
}

// Pod web leaves node n1, and pod db comes.
func ExampleVector_Add() {
	var schema resources.Schema
	list := func(cpu, memory string) resources.Vector {
		return resources.FromList(&schema, v1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory)})
	}
	requested := list("3", "6Gi")
	requested.Sub(list("500m", "1Gi"))
	saturated := requested.Add(list("2", "4Gi"))
	fmt.Println(requested.Describe(&schema), saturated)
	// Output: cpu=4500m memory=9663676416 false
}

// A verdict carries a reason and says whether preemption can help.
func ExampleVerdict() {
	var allowed resources.Verdict
	fmt.Println(allowed)
	fmt.Println(resources.Verdict(3))
	fmt.Println(resources.Verdict(3) | resources.Unresolvable)
	// Output:
	// allows
	// rejects (3)
	// rejects for good (3)
}
