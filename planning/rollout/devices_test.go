package rollout

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The device of a pod that left is free: the pod goes to n2 and, when n2 is replaced, back to n1. Each node has one device.
func TestDevices(t *testing.T) {
	w := five("cpu=4")
	w.objects.DeviceClasses = []*resourcev1.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}}
	spec := resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
		Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1},
	}}}}
	w.objects.ResourceClaimTemplates = []*resourcev1.ResourceClaimTemplate{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gpu"}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: spec},
	}}
	for _, node := range []string{"n1", "n2"} {
		w.objects.ResourceSlices = append(w.objects.ResourceSlices, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: resourcev1.ResourceSliceSpec{
			Driver: "gpu.example.com", NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
			Devices: []resourcev1.Device{{Name: "gpu-0"}},
		}})
	}
	w.app("train", "cpu=1", "n1", func(s *v1.PodSpec) {
		s.ResourceClaims = []v1.PodResourceClaim{{Name: "device", ResourceClaimTemplateName: new("gpu")}}
	})
	pod := w.objects.Pods[0]
	pod.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "device", ResourceClaimName: new("made")}}
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "made", UID: "uid-made",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: new(true)}},
	}, Spec: spec}
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: pod.Name, UID: pod.UID}}
	claim.Status.Allocation = &resourcev1.AllocationResult{
		Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Request: "gpu", Driver: "gpu.example.com", Pool: "n1", Device: "gpu-0"}}},
		NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"n1"}}},
		}}},
	}
	w.objects.ResourceClaims = []*resourcev1.ResourceClaim{claim}
	require.Equal(t, []string{
		"0s replace n1 until 2s",
		"  0s..2s: train-0 -> train-0-moved-1 n2@0s",
		"2s replace n2 until 4s",
		"  2s..4s: train-0-moved-1 -> train-0-moved-2 n1@2s",
	}, lines(w.plan(t, given("n1", "n2"))))
}

// In a cluster of one node no node takes the pods.
func TestOneNode(t *testing.T) {
	w := five("cpu=4")
	w.objects.Nodes = w.objects.Nodes[:1]
	w.app("web", "cpu=1", "n1", nil)
	o := given("n1")
	o.Remedies = 4
	d := w.plan(t, o).Blocked[0]
	require.Equal(t, NoRoom, d.Kind)
	require.Contains(t, d.Proof, "no node takes pods: 0/1 nodes are available")
	require.Equal(t, []string{"1 surge node like n1"}, remedied(d.Remedies))
}
