package tracker_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
)

// gpus returns the slice of a node with one GPU.
func gpus(node string) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: node + "-gpus"},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: "gpu.example.com", Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1}, NodeName: &node,
			Devices: []resourcev1.Device{{Name: "gpu-0"}},
		},
	}
}

// gpuClaim asks for one device of the class gpu.
func gpuClaim(name string) *resourcev1.ResourceClaim {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "d6f1"}}
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{
		Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1},
	}}
	return claim
}

// gpuPod uses the claim of its own name.
func gpuPod(name string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       v1.PodSpec{ResourceClaims: []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &name}}},
	}
}

// One GPU is on n4. The example decides about the pod gpu, reserves the GPU, and returns the claim that PreBind writes.
func ExampleTracker() {
	snapshot, err := cluster.New(cluster.Objects{
		Nodes:          []*v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, {ObjectMeta: metav1.ObjectMeta{Name: "n4"}}},
		ResourceSlices: []*resourcev1.ResourceSlice{gpus("n4")},
		DeviceClasses:  []*resourcev1.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}},
		ResourceClaims: []*resourcev1.ResourceClaim{gpuClaim("gpu")},
	})
	if err != nil {
		panic(err)
	}
	t := tracker.New(snapshot, tracker.Of(snapshot))
	filter := t.Filter(tracker.Options{})
	pod := gpuPod("gpu")
	state := filter.On(filter.Compile(pod))
	for i := range snapshot.Len() {
		fmt.Println(snapshot.Node(i).Name, state.Reasons(state.Check(i)))
	}
	allocation := state.Allocation(snapshot.Slot("n4"))
	if err := t.Reserve(pod, allocation); err != nil {
		panic(err)
	}
	fmt.Println("another pod with the claim:", filter.Compile(gpuPod("gpu")).Reason())
	claims, err := t.Bound(pod, allocation, time.Time{})
	if err != nil {
		panic(err)
	}
	for _, c := range claims {
		fmt.Println("PreBind writes", c.Name, "with", c.Status.Allocation.Devices.Results[0].Device, "for", c.Status.ReservedFor[0].Name)
	}
	// Output:
	// n1 [cannot allocate all claims]
	// n4 []
	// another pod with the claim: resource claim default/gpu is in the process of being allocated
	// PreBind writes gpu with gpu-0 for gpu
}
