package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	driver         = "gpu.example.com"
	devicesPerNode = 8
	devicesPerPod  = 4
)

// claims makes nodes of eight devices each. Every pending pod has a claim for four devices of one NUMA node; the class and the
// claim have selectors. With distinct no two devices have equal attributes, and no two nodes have devices whose compared attribute
// is equal. The pods fill all devices but those of one node in five.
func claims(distinct bool) func(int) (world, error) {
	return func(n int) (world, error) {
		w := world{nodes: makeNodes(n, "32", "64Gi"), namespaces: []*v1.Namespace{namespace("default", nil)}, limit: n * 8 / 5}
		for i, node := range w.nodes {
			w.slices = append(w.slices, sliceOf(node.Name, i, distinct))
		}
		w.classes = []*resourcev1.DeviceClass{{
			ObjectMeta: metav1.ObjectMeta{Name: "gpu"},
			Spec:       resourcev1.DeviceClassSpec{Selectors: expression(`device.driver == "gpu.example.com"`)},
		}}
		for i := range w.limit {
			w.claims = append(w.claims, claimOf(fmt.Sprintf("claim-%d", i)))
		}
		w.pod = func(i int) *v1.Pod {
			name := fmt.Sprintf("claim-%d", i)
			p := makePod("default", fmt.Sprintf("new-%d", i), fmt.Sprintf("app-%02d", i%apps))
			p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpus", ResourceClaimName: &name}}
			p.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: "gpus"}}
			return p
		}
		return w, nil
	}
}

func expression(text string) []resourcev1.DeviceSelector {
	return []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: text}}}
}

// sliceOf publishes the devices of one node. Devices of even number are on NUMA node 0.
func sliceOf(node string, at int, distinct bool) *resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: node + "-gpus", UID: types.UID(node + "-gpus")},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: driver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
		},
	}
	for k := range devicesPerNode {
		model, numa := "large", fmt.Sprint(k%2)
		memory := int64(80) << 30
		if distinct {
			numa = fmt.Sprintf("%s-%d", node, k%2)
			memory += int64(at*devicesPerNode + k)
		}
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{
			Name:       fmt.Sprintf("gpu-%d", k),
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"model": {StringValue: &model}, "numa": {StringValue: &numa}},
			Capacity:   map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: *resource.NewQuantity(memory, resource.BinarySI)}},
		})
	}
	return s
}

func claimOf(name string) *resourcev1.ResourceClaim {
	numa := resourcev1.FullyQualifiedName(driver + "/numa")
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
			Requests: []resourcev1.DeviceRequest{{Name: "gpus", Exactly: &resourcev1.ExactDeviceRequest{
				DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: devicesPerPod,
				Selectors: expression(`device.attributes["gpu.example.com"].model == "large" && device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0`),
			}}},
			Constraints: []resourcev1.DeviceConstraint{{MatchAttribute: &numa}},
		}},
	}
}
