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

// BenchmarkState decides a pod on 5,000 nodes with eight devices each: four devices of one NUMA node, by a selector of the
// class. Each decision allocates on one node. With distinct, the devices of no two nodes are alike.
func BenchmarkState(b *testing.B) {
	for _, distinct := range []bool{false, true} {
		name := "repeated"
		if distinct {
			name = "distinct"
		}
		b.Run(name, func(b *testing.B) {
			var (
				slices []*resourcev1.ResourceSlice
				nodes  list
			)
			for k := range 5000 {
				node := fmt.Sprintf("n%d", k)
				s := gpus(node)
				s.Spec.Devices = nil
				for d := range 8 {
					model, numa, serial := "a", fmt.Sprint(d/4), fmt.Sprintf("%d-%d", k, d)
					if distinct {
						numa += "-" + node
					}
					s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", d), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
						"model": {StringValue: &model}, "numa": {StringValue: &numa}, "serial": {StringValue: &serial}}})
				}
				slices = append(slices, s)
				nodes = append(nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})
			}
			ledger := devices.NewLedger(devices.NewInventory(slices))
			classes := func(string) *resourcev1.DeviceClass { return numaClass }
			allocator := devices.NewAllocator(ledger, classes, equals{}, devices.Options{})
			claim := gpuClaim("web", 4)
			attribute := resourcev1.FullyQualifiedName("gpu.example.com/numa")
			claim.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: &attribute}}
			pod := devices.Compile(user("p", "web"), &byName{list: []*resourcev1.ResourceClaim{claim}}, nil)
			b.ReportAllocs()
			at := 0
			for b.Loop() {
				state := pod.Onto(nodes, allocator, devices.Clock{})
				fits := 0
				for i := range nodes {
					if state.Check(i) == 0 {
						fits++
					}
				}
				if fits < 2500 {
					b.Fatal(fits)
				}
				a := state.Allocation(at)
				ledger.Add(nil, &a.Results[0])
				if at%2 == 1 {
					ledger.Remove(nil, &a.Results[0])
				}
				at = (at + 1) % 2000
			}
		})
	}
}

var numaClass = &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.DeviceClassSpec{
	Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: "model=a"}}}}}
