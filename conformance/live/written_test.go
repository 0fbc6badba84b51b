package live

import (
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// written are the scenarios of what a write before the binding may hold.
var written = []scenario{
	{name: "a volume that exists and one that is made", run: func(w *world, _ *wire) {
		w.node("n1", "2")
		w.volume("pv1")
		w.claim("c1")
		w.storageClass("made", "example.com/p")
		w.claim("c2", func(c *v1.PersistentVolumeClaim) { c.Spec.StorageClassName = ptr.To("made") })
		w.pod("p1", "1", claims("c1"), func(p *v1.Pod) {
			second := p.Spec.Volumes[0].DeepCopy()
			second.Name, second.PersistentVolumeClaim.ClaimName = "w", "c2"
			p.Spec.Volumes = append(p.Spec.Volumes, *second)
		})
		w.selected("c2", "n1")
		w.completeClaim("c1", "pv1")
		w.provision("c2", "pv2")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}, ours: late, theirs: late, why: inStep},
	{name: "an allocation with all that a claim asks for", run: func(w *world, _ *wire) {
		w.gpus("n1", shareable)
		w.deviceClass("rich", resourcev1.DeviceClassSpec{Config: []resourcev1.DeviceClassConfiguration{{DeviceConfiguration: setting(`{"from":"class"}`)}}})
		w.richClaim("d1")
		w.richClaim("d2")
		w.pod("p1", "1", uses("d1"))
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
		w.boundSeen("p1", "n1")
		w.pod("p2", "1", uses("d2")) // shares of the same devices
		w.bound("p2", "n1")
		w.event("Scheduled", "p2")
	}, ours: late, theirs: late, why: inStep},
	{name: "the claim of a template", run: func(w *world, _ *wire) {
		w.gpus("n1")
		p := w.pod("p1", "1", func(p *v1.Pod) {
			p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "d", ResourceClaimTemplateName: ptr.To("t")}}
		})
		// The claim has its owner from the start, as a template's has: no scheduler hears of an owner that comes after the pod's status.
		w.gpuClaim("d1", metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID, Controller: ptr.To(true)})
		w.patchPodStatus("p1", `{"resourceClaimStatuses":[{"name":"d","resourceClaimName":"d1"}]}`)
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}, ours: late, theirs: late, why: inStep},
}

// shareable makes a device that several claims may have a part of, and that is to be tolerated.
func shareable(d *resourcev1.Device) {
	d.AllowMultipleAllocations = ptr.To(true)
	d.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{
		"memory": {Value: resource.MustParse("8Gi"), RequestPolicy: &resourcev1.CapacityRequestPolicy{
			Default: ptr.To(resource.MustParse("1Gi")), ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: ptr.To(resource.MustParse("1Gi")), Step: ptr.To(resource.MustParse("1Gi"))},
		}},
		"slots": {Value: resource.MustParse("4"), RequestPolicy: &resourcev1.CapacityRequestPolicy{
			Default: ptr.To(resource.MustParse("1")), ValidValues: []resource.Quantity{resource.MustParse("1"), resource.MustParse("2")},
		}},
	}
	d.Taints = []resourcev1.DeviceTaint{{Key: "example.com/t", Value: "v", Effect: resourcev1.DeviceTaintEffectNoSchedule}}
}

func setting(parameters string) resourcev1.DeviceConfiguration {
	return resourcev1.DeviceConfiguration{Opaque: &resourcev1.OpaqueDeviceConfiguration{Driver: "gpu.example.com", Parameters: runtime.RawExtension{Raw: []byte(parameters)}}}
}

// richClaim makes a claim of alternatives, of which the second can be had, and of a part of a device, with configurations and tolerations.
func (w *world) richClaim(name string) {
	w.t.Helper()
	tolerations := []resourcev1.DeviceToleration{{Key: "example.com/t", Operator: resourcev1.DeviceTolerationOpEqual, Value: "v", Effect: resourcev1.DeviceTaintEffectNoSchedule}}
	part := func(memory string) *resourcev1.CapacityRequirements {
		return &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse(memory)}}
	}
	either := func(sub, memory string) resourcev1.DeviceSubRequest {
		return resourcev1.DeviceSubRequest{Name: sub, DeviceClassName: "rich", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1, Tolerations: tolerations, Capacity: part(memory)}
	}
	claim := resourcev1.DeviceClaim{
		Requests: []resourcev1.DeviceRequest{
			{Name: "a", FirstAvailable: []resourcev1.DeviceSubRequest{either("large", "9Gi"), either("small", "1500Mi")}},
			{Name: "b", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "rich", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1, Tolerations: tolerations, Capacity: part("2Gi")}},
		},
		Config: []resourcev1.DeviceClaimConfiguration{
			{Requests: []string{"a/small"}, DeviceConfiguration: setting(`{"from":"small"}`)},
			{Requests: []string{"a/large"}, DeviceConfiguration: setting(`{"from":"large"}`)},
			{DeviceConfiguration: setting(`{"from":"claim"}`)},
		},
	}
	c, err := w.api.ResourceV1().ResourceClaims("default").Create(w.ctx, &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceClaimSpec{Devices: claim}}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	w.objectSeen(deviceClaimKind, c)
}
