package consolidation

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
)

// gpus adds devices to a node.
func (w *world) gpus(node string, n int) {
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node + "-gpus"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "gpu.example.com", NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
	}}
	for k := range n {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", k)})
	}
	w.objects.ResourceSlices = append(w.objects.ResourceSlices, slice)
}

func gpuSpec() resourcev1.ResourceClaimSpec {
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
		Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1},
	}}}}
}

// training is an app whose pods have a device each, by a claim that is made from a template. on has the nodes.
func (w *world) training(on ...string) {
	w.objects.DeviceClasses = []*resourcev1.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}}
	w.objects.ResourceClaimTemplates = []*resourcev1.ResourceClaimTemplate{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gpu"}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: gpuSpec()},
	}}
	used := map[string]int{}
	t := template("train", "cpu=1", func(s *v1.PodSpec) {
		s.ResourceClaims = []v1.PodResourceClaim{{Name: "device", ResourceClaimTemplateName: ptr("gpu")}}
	})
	w.app("train", "", "", nil)
	for k, node := range on {
		name := fmt.Sprintf("train-%d", k)
		pod := w.pod("ReplicaSet", "train", name, node, t)
		claim := name + "-claim"
		pod.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "device", ResourceClaimName: &claim}}
		c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: claim, UID: types.UID(claim)}, Spec: gpuSpec()}
		c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: name, UID: pod.UID, Controller: ptr(true)}}
		c.Status.Allocation = &resourcev1.AllocationResult{
			Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{
				Request: "gpu", Driver: "gpu.example.com", Pool: node, Device: fmt.Sprintf("gpu-%d", used[node]),
			}}},
			NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{node}}},
			}}},
		}
		c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: name, UID: pod.UID}}
		used[node]++
		w.objects.ResourceClaims = append(w.objects.ResourceClaims, c)
	}
}

// Pods with devices move to nodes with free devices: the claim of the new pod is made from the template, and the claim of the old pod goes.
func TestDevices(t *testing.T) {
	type test struct {
		name, why string
		gpus      []int // of n1..n5
		on        []string
		after     int64
	}
	testkit.Run(t, []test{
		{"one node has all", "three pods of 1 core and 1 device: n1 has 3 devices", []int{3, 1, 1, 0, 0}, []string{"n1", "n2", "n3"}, 1},
		{"two devices a node", "three pods need two nodes of 2 devices, although one node has the cores", []int{2, 2, 2, 0, 0}, []string{"n1", "n2", "n3"}, 2},
		{"the last node has all", "the pods of n1 and n2 go to n3", []int{1, 1, 3, 0, 0}, []string{"n1", "n2", "n3"}, 1},
		{"no free device", "every device is in use", []int{1, 1, 1, 0, 0}, []string{"n1", "n2", "n3"}, 3},
	}, func(t *testing.T, c test) {
		w := five("cpu=4")
		for k, n := range c.gpus {
			if n > 0 {
				w.gpus(w.objects.Nodes[k].Name, n)
			}
		}
		w.training(c.on...)
		plan := w.plan(t, Options{Steps: 100})
		require.Equal(t, c.after, plan.After, "%s: %v", c.why, lines(plan))
		for _, wave := range plan.Waves {
			require.Len(t, wave, 1, "pods with claims of their own move one at a time")
		}
	})
}

// A device that every node reaches is free for the new pod once the old pod is gone.
func TestDeviceOfAllNodes(t *testing.T) {
	w := five("cpu=4")
	w.gpus("n1", 1)
	slice := w.objects.ResourceSlices[0]
	slice.Spec.NodeName, slice.Spec.AllNodes = nil, ptr(true)
	w.training("n1")
	w.objects.ResourceClaims[0].Status.Allocation.NodeSelector = nil
	w.app("web", "cpu=3", "n2", nil)
	w.in.HoldNode = func(n *v1.Node) string { return map[bool]string{true: "held"}[n.Name == "n2"] }
	plan := w.plan(t, Options{})
	require.Equal(t, int64(1), plan.After)
	m := plan.Waves[0][0]
	require.Equal(t, []string{"n2", "InPlace"}, []string{m.To, string(m.Way)})
}

// A pod with an ephemeral volume gets a new claim, which no volume is bound to yet: the new volume is made where the class allows.
func TestUnboundVolumes(t *testing.T) {
	type test struct {
		name, why string
		zone      string // of the volumes of the class; "": any
		node      string // of the pod; n4 runs another pod
		after     int64
		to        string
	}
	testkit.Run(t, []test{
		{"any zone", "the class makes volumes everywhere", "", "n1", 1, "n4"},
		{"zone of the other node", "the class makes volumes in zone b", "b", "n1", 1, "n4"},
		{"another zone", "the class makes volumes in zone a: the pod cannot go to n4, and the pod of n4 comes to the pod", "a", "n1", 1, "n1"},
	}, func(t *testing.T, c test) {
		w := five("cpu=4")
		wait := storagev1.VolumeBindingWaitForFirstConsumer
		class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "disk"}, Provisioner: "disk.example.com", VolumeBindingMode: &wait}
		if c.zone != "" {
			class.AllowedTopologies = []v1.TopologySelectorTerm{{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: v1.LabelTopologyZone, Values: []string{c.zone}}}}}
		}
		w.objects.StorageClasses = []*storagev1.StorageClass{class}
		spec := v1.PersistentVolumeClaimSpec{
			StorageClassName: ptr("disk"), AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources: v1.VolumeResourceRequirements{Requests: testkit.Resources("storage=1Gi")},
		}
		w.app("web", "cpu=1", c.node, func(s *v1.PodSpec) {
			s.Volumes = []v1.Volume{{Name: "scratch", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{Spec: spec}}}}}
		})
		w.app("other", "cpu=1", "n4", nil)
		pod := w.objects.Pods[0]
		claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "web-0-scratch", UID: "web-0-scratch", Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "web-0", UID: pod.UID, Controller: ptr(true)}},
		}, Spec: spec}
		claim.Spec.VolumeName, claim.Status.Phase = "pv-scratch", v1.ClaimBound
		volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-scratch"}, Spec: v1.PersistentVolumeSpec{
			AccessModes: spec.AccessModes, Capacity: testkit.Resources("storage=1Gi"), StorageClassName: "disk",
			ClaimRef: &v1.ObjectReference{Namespace: "default", Name: "web-0-scratch", UID: "web-0-scratch"},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{c.node}}},
			}}}},
		}}
		w.objects.Claims, w.objects.PersistentVolumes = []*v1.PersistentVolumeClaim{claim}, []*v1.PersistentVolume{volume}
		if c.to == "n4" {
			w.in.HoldNode = func(n *v1.Node) string {
				if n.Name == "n4" {
					return "held"
				}
				return ""
			}
		}
		plan := w.plan(t, Options{Steps: 50})
		require.Equal(t, c.after, plan.After, "%s: %v", c.why, lines(plan))
		require.Len(t, plan.Waves, 1)
		require.Equal(t, c.to, plan.Waves[0][0].To, c.why)
	})
}
