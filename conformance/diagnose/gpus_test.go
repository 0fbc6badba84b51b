package diagnose

import (
	"fmt"
	"math/rand"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/conformance/gen"
)

const driver = "gpu.example.com"

// gpus gives the nodes of a cluster devices, the pending pods claims, and some of the devices to running pods or to nobody.
func gpus(c *gen.Cluster) {
	r := rand.New(rand.NewSource(c.Seed))
	c.DeviceClasses = []*resourcev1.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}}
	for _, n := range c.Nodes {
		s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "gpus-" + n.Name}}
		s.Spec = resourcev1.ResourceSliceSpec{Driver: driver, NodeName: &n.Name, Pool: resourcev1.ResourcePool{Name: n.Name, Generation: 1, ResourceSliceCount: 1}}
		for k := range r.Intn(5) {
			numa := int64(k % 2)
			s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", k), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"numa": {IntValue: &numa}}})
		}
		c.ResourceSlices = append(c.ResourceSlices, s)
		if len(s.Spec.Devices) == 0 || r.Intn(3) == 0 {
			continue
		}
		held := claim(c, metav1.NamespaceDefault, "held-"+n.Name, 1, false)
		var user *v1.Pod
		for _, p := range c.Pods {
			if p.Spec.NodeName == n.Name && len(p.Spec.ResourceClaims) == 0 && r.Intn(2) == 0 {
				user = p
			}
		}
		held.Status.Allocation = &resourcev1.AllocationResult{
			Devices:      resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: driver, Pool: n.Name, Device: "gpu-0"}}},
			NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{n.Name}}}}}},
		}
		if user != nil {
			held.Namespace = user.Namespace
			held.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: user.Name, UID: user.UID}}
			uses(user, held.Name)
		}
	}
	for i, p := range c.Pending {
		name := fmt.Sprintf("wants-%d", i)
		claim(c, p.Namespace, name, int64(1+r.Intn(4)), r.Intn(2) == 0)
		uses(p, name)
	}
}

func uses(p *v1.Pod, claim string) {
	p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim}}
}

// claim adds a claim of so many devices, of one NUMA node if alike.
func claim(c *gen.Cluster, namespace, name string, count int64, alike bool) *resourcev1.ResourceClaim {
	x := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "-" + name)}}
	x.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count}}}
	if alike {
		numa := resourcev1.FullyQualifiedName(driver + "/numa")
		x.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: &numa}}
	}
	c.ResourceClaims = append(c.ResourceClaims, x)
	return x
}
