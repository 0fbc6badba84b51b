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

// Why a node with eight GPUs cannot serve a claim.
func ExampleSearch_Explain() {
	slice := gpus("n1")
	slice.Spec.Devices = nil
	for k := range 8 {
		numa := int64(k / 4)
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", k),
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"numa": {IntValue: &numa}}})
	}
	running := gpuClaim("running", 2)
	running.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		{Request: "gpu", Driver: "gpu.example.com", Pool: "n1", Device: "gpu-0"}, {Request: "gpu", Driver: "gpu.example.com", Pool: "n1", Device: "gpu-4"}}}}
	ledger := devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{slice}), running)
	allocator := devices.NewAllocator(ledger, class, nil, devices.Options{})
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}

	for _, line := range allocator.Compile(gpuClaim("large", 7)).Explain(node).Lines() {
		fmt.Println(line)
	}
	near := gpuClaim("near", 4)
	numa := resourcev1.FullyQualifiedName("gpu.example.com/numa")
	near.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: &numa}}
	for _, line := range allocator.Compile(near).Explain(node).Lines() {
		fmt.Println(line)
	}
	n, err := allocator.Compile(gpuClaim("small", 2)).Capacity(node, 100)
	if err != nil {
		panic(err)
	}
	fmt.Println("room for", n, "pods with two GPUs each")
	// Output:
	// claim default/large, request gpu: wants 7, 6 of 8 devices left; 2 fail the test: is not in use (held by claim default/running)
	// cannot be met together: request gpu of claim default/near, matchAttribute gpu.example.com/numa of claim default/near
	// room for 3 pods with two GPUs each
}

// Which of the GPUs of a node a claim can have.
func ExampleSearch_Verdicts() {
	slice := gpus("n1")
	slice.Spec.Devices[1].Taints = []resourcev1.DeviceTaint{{Key: "example.com/overheated", Effect: resourcev1.DeviceTaintEffectNoSchedule}}
	slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: "gpu-2"})
	running := gpuClaim("running", 1)
	running.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		{Request: "gpu", Driver: "gpu.example.com", Pool: "n1", Device: "gpu-0"}}}}
	ledger := devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{slice}), running)
	verdicts, err := devices.NewAllocator(ledger, class, nil, devices.Options{}).Compile(gpuClaim("web", 1)).Verdicts(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	if err != nil {
		panic(err)
	}
	for _, x := range verdicts {
		fmt.Println(x.Claim, x.Request, x.Device, x.Fails)
	}
	// Output:
	// default/web gpu gpu.example.com/n1/gpu-0 [is not in use]
	// default/web gpu gpu.example.com/n1/gpu-1 [has no taint example.com/overheated:NoSchedule that the request does not tolerate]
	// default/web gpu gpu.example.com/n1/gpu-2 []
}
