package resources_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/resources"
)

// The gpu node of the running example has 8 cores, 32 GiB and 2 GPUs; a pod wants 3 GPUs.
func Example() {
	schema := resources.NewSchema()
	free := resources.FromList(schema, v1.ResourceList{
		"cpu": resource.MustParse("8"), "memory": resource.MustParse("32Gi"), "nvidia.com/gpu": resource.MustParse("2"),
	})
	request := resources.FromList(schema, v1.ResourceList{
		"cpu": resource.MustParse("500m"), "nvidia.com/gpu": resource.MustParse("3"),
	})
	fmt.Println("asks for", request.Describe(schema))
	fmt.Println("fits:", request.FitsIn(free))
	for _, c := range request.Short(nil, free) {
		fmt.Printf("short of %s: %d wanted, %d free\n", schema.Name(c), request[c], free[c])
	}
	// Output:
	// asks for cpu=500m nvidia.com/gpu=3
	// fits: false
	// short of nvidia.com/gpu: 3 wanted, 2 free
}
