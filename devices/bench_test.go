package devices_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/devices"
)

// BenchmarkAllocate asks each of 5,000 nodes for one device. Every node has two devices, and the first is taken.
func BenchmarkAllocate(b *testing.B) {
	var (
		slices []*resourcev1.ResourceSlice
		nodes  []*v1.Node
		claims []*resourcev1.ResourceClaim
	)
	for k := range 5000 {
		name := fmt.Sprintf("n%d", k)
		slices = append(slices, gpus(name))
		nodes = append(nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
		c := gpuClaim("running-"+name, 1)
		c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
			Results: []resourcev1.DeviceRequestAllocationResult{{Request: "gpu", Driver: "gpu.example.com", Pool: name, Device: "gpu-0"}}}}
		claims = append(claims, c)
	}
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory(slices), claims...), class, nil, devices.Options{})
	claim := gpuClaim("web", 1)
	b.ReportAllocs()
	for b.Loop() {
		search := allocator.Compile(claim)
		for _, n := range nodes {
			if results, ok, err := search.Allocate(n); err != nil || !ok || results[0].Devices.Results[0].Device != "gpu-1" {
				b.Fatal(results, ok, err)
			}
		}
	}
}
