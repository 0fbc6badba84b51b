package overhead_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

// web returns a pod that starts with an init container, and whose runtime class adds overhead.
func web() *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: v1.PodSpec{
			InitContainers: []v1.Container{{
				Name: "migrate",
				Resources: v1.ResourceRequirements{
					Requests: v1.ResourceList{"memory": resource.MustParse("1Gi")},
				},
			}},
			Containers: []v1.Container{{
				Name: "server",
				Resources: v1.ResourceRequirements{
					Limits: v1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("256Mi")},
				},
			}},
			Overhead: v1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("120Mi")},
		},
	}
}

// The API server fills in the missing requests of a manifest. Then Explain says where each request comes from.
func Example() {
	pod := overhead.Default(web())
	for _, part := range overhead.Explain(pod, overhead.Options{}) {
		fmt.Println(part)
	}
	// Output:
	// cpu 750m: the containers 500m + overhead 250m
	// memory 1144Mi: init container migrate needs 1Gi, the containers 256Mi + overhead 120Mi
}

func ExampleRequests() {
	pod := overhead.Default(web())
	requests := overhead.Requests(pod, overhead.Options{})
	bare := overhead.Requests(pod, overhead.Options{IgnoreOverhead: true})
	fmt.Println(requests.Cpu(), requests.Memory())
	fmt.Println(bare.Cpu(), bare.Memory())
	// Output:
	// 750m 1144Mi
	// 500m 1Gi
}

// Limits include overhead only where a limit exists. An init container without a limit adds nothing.
func ExampleLimits() {
	limits := overhead.Limits(web(), overhead.Options{})
	fmt.Println(limits.Cpu(), limits.Memory())
	// Output: 750m 376Mi
}

// A row of integers is what the scheduler counts with: thousandths of cpu, bytes, and whole units of other resources.
func ExampleAppendRequests() {
	gpu := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "train", Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{
			"cpu": resource.MustParse("4"), "memory": resource.MustParse("16Gi"), "example.com/gpu": resource.MustParse("1"),
		},
	}}}}}
	schema := &resources.Schema{}
	row := make(resources.Vector, 0, 8)
	for _, pod := range []*v1.Pod{overhead.Default(web()), gpu} {
		row = overhead.AppendRequests(row[:0], schema, pod, overhead.Options{})
		fmt.Println(row.Describe(schema))
	}
	// Output:
	// cpu=750m memory=1199570944
	// cpu=4000m memory=17179869184 example.com/gpu=1
}

// In scores a container without a cpu request counts 100m, and a container without a memory request 200Mi.
func ExampleNonZero() {
	db := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "db", Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{"memory": resource.MustParse("1Gi")},
	}}}}}
	cpuMilli, memoryBytes := overhead.NonZero(db, release.Current)
	fmt.Println(cpuMilli, memoryBytes)
	// Output: 100 1073741824
}

func ExampleAllocatable() {
	allocatable, err := overhead.Allocatable(
		v1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("10Gi")},
		overhead.Reservations{
			System:       v1.ResourceList{"memory": resource.MustParse("1.5Gi")},
			EvictionHard: map[string]string{"memory.available": "500Mi"},
		})
	fmt.Println(allocatable.Cpu(), allocatable.Memory(), err)
	// Output: 4 8204Mi <nil>
}
