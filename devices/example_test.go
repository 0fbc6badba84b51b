package devices_test

import (
	"fmt"
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/devices"
)

// gpus returns the slice of a node with two GPUs.
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

// Each of two nodes has two GPUs, and one GPU of n1 is taken. The example allocates the claim on both nodes.
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

// claims are the objects of a cluster with the class gpu.
type claims []*resourcev1.ResourceClaim

func (c claims) ResourceClaim(namespace, name string) *resourcev1.ResourceClaim {
	for _, claim := range c {
		if claim.Namespace == namespace && claim.Name == name {
			return claim
		}
	}
	return nil
}
func (c claims) ResourceClaims(string) iter.Seq[*resourcev1.ResourceClaim] { return slices.Values(c) }
func (claims) InFlight(types.UID) bool                                     { return false }
func (claims) DeviceClass(name string) *resourcev1.DeviceClass             { return class(name) }

type nodes []*v1.Node

func (n nodes) Len() int            { return len(n) }
func (n nodes) Node(i int) *v1.Node { return n[i] }

// A pod asks for a claim of two GPUs. Nodes n3 and n5 have GPUs, the others have none.
func Example() {
	var cluster nodes
	for k, zone := range []string{"a", "a", "b", "b", "c"} {
		cluster = append(cluster, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", k+1), Labels: map[string]string{v1.LabelTopologyZone: zone}}})
	}
	name := "two-gpus"
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gpu", UID: "gpu"}}
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpus", ResourceClaimName: &name}}
	pod.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Claims: []v1.ResourceClaim{{Name: "gpus"}}}}}

	compiled := devices.Compile(pod, claims{gpuClaim(name, 2)}, nil)
	ledger := devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{gpus("n3"), gpus("n5")}))
	state := compiled.On(cluster, devices.NewAllocator(ledger, class, nil, devices.Options{}), devices.Clock{})
	for i, n := range cluster {
		fmt.Println(n.Name, state.Reasons(state.Check(i)), len(state.Allocation(i).Claims))
	}
	// Output:
	// n1 [cannot allocate all claims] 0
	// n2 [cannot allocate all claims] 0
	// n3 [] 1
	// n4 [cannot allocate all claims] 0
	// n5 [] 1
}
