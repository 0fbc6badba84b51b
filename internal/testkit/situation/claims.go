package situation

import (
	"fmt"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/podgroup"
)

// Class is the class of all devices and requests.
func Class() *resourcev1.DeviceClass {
	return &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "uid-c"}}
}

// devices is a slice of a node with that many devices.
func (s *Situation) devices(m metav1.ObjectMeta, amount string) error {
	n, err := strconv.Atoi(amount)
	if err != nil {
		return err
	}
	node := m.Name
	m.Namespace, m.Name = "", m.Name+"-devices"
	slice := &resourcev1.ResourceSlice{ObjectMeta: m, Spec: resourcev1.ResourceSliceSpec{
		Driver: "drv", NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
	}}
	for k := range n {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("d%d", k)})
	}
	s.Slices = append(s.Slices, slice)
	return nil
}

// claim asks for one device. on=n2 is an allocation of a device of another driver on a node. for=g,g',gg,p has reservations of the group
// g, of its name with another UID, of another name with its UID, and of a pod. owner=g is the group that owns it.
func (s *Situation) claim(m metav1.ObjectMeta, words []string) error {
	c := &resourcev1.ResourceClaim{ObjectMeta: m}
	c.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: "c", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
	}}}
	for _, w := range words {
		switch key, value, _ := strings.Cut(w, "="); key {
		case "on":
			c.Finalizers = []string{resourcev1.Finalizer}
			c.Status.Allocation = &resourcev1.AllocationResult{
				Devices:      resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: "other", Pool: "p", Device: m.Name}}},
				NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{value}}}}}},
			}
		case "for":
			for who := range strings.SplitSeq(value, ",") {
				c.Status.ReservedFor = append(c.Status.ReservedFor, reservation(who))
			}
		case "owner":
			yes := true
			c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "scheduling.k8s.io/v1beta1", Kind: "PodGroup", Name: value, UID: types.UID("uid-" + value), Controller: &yes}}
		default:
			return fmt.Errorf("unknown word %q", w)
		}
	}
	s.Claims = append(s.Claims, c)
	return nil
}

func reservation(who string) resourcev1.ResourceClaimConsumerReference {
	group := resourcev1.ResourceClaimConsumerReference{APIGroup: "scheduling.k8s.io", Resource: "podgroups", Name: "g", UID: "uid-g"}
	switch who {
	case "g":
	case "g'":
		group.UID = "uid-before"
	case "gg":
		group.Name = "gg"
	default:
		return resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: who, UID: types.UID("uid-" + who)}
	}
	return group
}

// groupClaim reads a claim of a group: claim=NAME=CLAIM, template=NAME=CLAIM of a claim that is made, template=NAME= where none is needed,
// and template=NAME before the claim is made. ok is false for another word.
func groupClaim(w string) (c podgroup.Claim, ok bool) {
	key, value, _ := strings.Cut(w, "=")
	name, claim, made := strings.Cut(value, "=")
	switch key {
	case "claim":
		return podgroup.Claim{Name: name, ClaimName: claim}, true
	case "template":
		c = podgroup.Claim{Name: name, TemplateName: "t"}
		if made {
			c.Generated = &claim
		}
		return c, true
	}
	return c, false
}

// claimOf is claim=NAME=CLAIM of a pod.
func claimOf(value string) v1.PodResourceClaim {
	name, claim, _ := strings.Cut(value, "=")
	return v1.PodResourceClaim{Name: name, ResourceClaimName: &claim}
}
