package devices_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/devices"
)

// gpus is a slice of a node with two GPUs.
func gpus(node string) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: node + "-gpus"},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: "gpu.example.com", Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1}, NodeName: &node,
			Devices: []resourcev1.Device{{Name: "gpu-0"}, {Name: "gpu-1"}},
		},
	}
}

// gpuClaim asks for count devices of the class gpu.
func gpuClaim(name string, count int64) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
			Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count},
		}}}},
	}
}

func class(name string) *resourcev1.DeviceClass {
	if name != "gpu" {
		return nil
	}
	return &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// The devices of a claim on one node. One of the node's two GPUs is taken.
func ExampleAllocator_Compile() {
	running := gpuClaim("running", 1)
	running.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
		Results: []resourcev1.DeviceRequestAllocationResult{{Request: "gpu", Driver: "gpu.example.com", Pool: "n1", Device: "gpu-0"}},
	}}
	inventory := devices.NewInventory([]*resourcev1.ResourceSlice{gpus("n1"), gpus("n2")})
	ledger := devices.NewLedger(inventory, running)
	allocator := devices.NewAllocator(ledger, class, nil, devices.Options{})
	search := allocator.Compile(gpuClaim("web", 2))
	for _, name := range []string{"n1", "n2"} {
		results, ok, err := search.Allocate(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if err != nil {
			panic(err)
		}
		fmt.Println(name, "has room:", ok)
		for _, r := range results {
			for _, d := range r.Devices.Results {
				fmt.Println(" ", d.Request, "gets", devices.ID{Driver: d.Driver, Pool: d.Pool, Device: d.Device})
			}
		}
	}
	// Output:
	// n1 has room: false
	// n2 has room: true
	//   gpu gets gpu.example.com/n2/gpu-0
	//   gpu gets gpu.example.com/n2/gpu-1
}
