package devicetaint_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/eviction/devicetaint"
)

// An administrator takes all devices of a pool out of use. A pod with one of them tolerates that for a minute.
func ExampleTaints_Eviction() {
	now := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	added := metav1.NewTime(now)
	rule := &resourcev1beta2.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: "firmware"}, Spec: resourcev1beta2.DeviceTaintRuleSpec{
		DeviceSelector: &resourcev1beta2.DeviceTaintSelector{Driver: new("gpu.example.com"), Pool: new("node-a")},
		Taint:          resourcev1beta2.DeviceTaint{Key: "maintenance", Effect: resourcev1beta2.DeviceTaintEffectNoExecute, TimeAdded: &added},
	}}
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "gpu"}}
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "train", UID: "1"}}
	claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{
		Request: "gpu", Driver: "gpu.example.com", Pool: "node-a", Device: "gpu-0",
		Tolerations: []resourcev1.DeviceToleration{{Key: "maintenance", Operator: resourcev1.DeviceTolerationOpExists, Effect: resourcev1.DeviceTaintEffectNoExecute, TolerationSeconds: new(int64(60))}},
	}}}}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "train", UID: "1"}, Spec: v1.PodSpec{
		NodeName: "node-a", ResourceClaims: []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: new("gpu")}},
	}}
	taints := devicetaint.New(nil, []*resourcev1beta2.DeviceTaintRule{rule}, now)
	e, ok := taints.Eviction(pod, func(_, name string) *resourcev1.ResourceClaim { return claim })
	fmt.Println(ok, e.At.Sub(now))
	fmt.Println(e)
	// Output:
	// true 1m0s
	// claim gpu, device gpu.example.com/node-a/gpu-0: maintenance:NoExecute of DeviceTaintRule firmware
}
