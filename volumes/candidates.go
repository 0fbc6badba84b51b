package volumes

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/affinity"
)

// candidate is a volume that suits the claim on the nodes that reach the volume.
type candidate struct {
	volume   *v1.PersistentVolume
	affinity *affinity.Selector
	size     resource.Quantity
	reserved bool // whether its claimRef is the claim
}

// candidates are the volumes that a claim could take, in the order of choice. Most volumes require a label of their nodes. A node is asked about
// two kinds of volumes: those that require one of its labels, and those that require no label.
type candidates struct {
	list     []candidate
	reserved int                   // so many come first, and have the claim as their claimRef
	others   []int32               // places of free volumes that name no label
	labels   []string              // that free volumes name
	by       map[[2]string][]int32 // places by label and value
}

func newCandidates(reserved, free []candidate) candidates {
	c := candidates{list: append(reserved, free...), reserved: len(reserved)}
	for k := c.reserved; k < len(c.list); k++ {
		label, values := named(c.list[k].volume)
		if label == "" {
			c.others = append(c.others, int32(k))
			continue
		}
		if c.by == nil {
			c.by = map[[2]string][]int32{}
		}
		if !slices.Contains(c.labels, label) {
			c.labels = append(c.labels, label)
		}
		for _, value := range values {
			x := [2]string{label, value}
			c.by[x] = append(c.by[x], int32(k))
		}
	}
	return c
}

// named returns a label and its values such that only nodes with one of them reach a volume; "" if the volume names none.
func named(pv *v1.PersistentVolume) (label string, values []string) {
	a := pv.Spec.NodeAffinity
	if a == nil || a.Required == nil || len(a.Required.NodeSelectorTerms) != 1 {
		return "", nil
	}
	for _, r := range a.Required.NodeSelectorTerms[0].MatchExpressions {
		if r.Operator == v1.NodeSelectorOpIn {
			return r.Key, r.Values
		}
	}
	return "", nil
}

// match returns the volume that the claim takes on the node, nil for none.
func (c *candidates) match(node *v1.Node, others []choice) *candidate {
	for k := range c.list[:c.reserved] {
		switch x := &c.list[k]; {
		case isPromised(others, x):
		case reaches(x.affinity, node):
			return x
		default: // a volume that is reserved for the claim is the only choice, even out of reach
			return nil
		}
	}
	best := c.first(c.others, len(c.list), node, others)
	for _, label := range c.labels {
		if value, has := node.Labels[label]; has {
			best = c.first(c.by[[2]string{label, value}], best, node, others)
		}
	}
	if best == len(c.list) {
		return nil
	}
	return &c.list[best]
}

// first returns the first of some places before a limit whose volume the claim can take on the node; the limit when there is none.
func (c *candidates) first(places []int32, limit int, node *v1.Node, others []choice) int {
	for _, k := range places {
		if int(k) >= limit {
			break
		}
		if x := &c.list[k]; !isPromised(others, x) && reaches(x.affinity, node) {
			return int(k)
		}
	}
	return limit
}

// isPromised reports whether an earlier claim of the pod takes the volume.
func isPromised(others []choice, x *candidate) bool {
	return slices.ContainsFunc(others, func(o choice) bool { return o.volume.volume.Name == x.volume.Name })
}

// withVolumes returns the filter with the volumes that its claims could take.
func (e *bindingFilter) withVolumes() *bindingFilter {
	if len(e.delayed) == 0 || e.unreadable != 0 {
		return e
	}
	c := *e
	c.delayed = slices.Clone(e.delayed)
	for k := range c.delayed {
		if d := &c.delayed[k]; d.labels != nil {
			d.candidates = e.candidates(d)
		}
	}
	return &c
}

// candidates returns the volumes that the claim could take on some node. A volume whose claimRef is the claim is a candidate
// whatever its phase, labels and access modes. Other volumes come by size, smallest first, then in the order of the table.
func (e *bindingFilter) candidates(d *delayedClaim) candidates {
	claim, name := d.claim, class(d.claim)
	var reserved, free []candidate
	for pv := range candidatesFor(e.objects.PersistentVolumes, name, claim.Namespace, claim.Name) {
		if volumeClass(pv) != name || pv.DeletionTimestamp != nil {
			continue
		}
		ref := pv.Spec.ClaimRef
		if ref != nil && !refersTo(ref, claim) || !suits(pv, claim, d.request) {
			continue
		}
		c := candidate{pv, nodeAffinity(pv), pv.Spec.Capacity[v1.ResourceStorage], ref != nil}
		switch {
		case c.reserved:
			reserved = append(reserved, c)
		case pv.Status.Phase == v1.VolumeAvailable && d.labels.Matches(labels.Set(pv.Labels)) && offersModes(pv, claim):
			free = append(free, c)
		}
	}
	slices.SortStableFunc(free, func(a, b candidate) int { return a.size.Cmp(b.size) })
	return newCandidates(reserved, free)
}

// refersTo reports whether a volume's claimRef is the claim. A claimRef without UID refers to the claim by name.
func refersTo(ref *v1.ObjectReference, claim *v1.PersistentVolumeClaim) bool {
	return ref.Name == claim.Name && ref.Namespace == claim.Namespace && (ref.UID == "" || ref.UID == claim.UID)
}

// suits reports whether size, mode and attributes class of a volume are as the claim asks.
func suits(pv *v1.PersistentVolume, claim *v1.PersistentVolumeClaim, request resource.Quantity) bool {
	size := pv.Spec.Capacity[v1.ResourceStorage]
	return size.Cmp(request) >= 0 &&
		modeOrDefault(pv.Spec.VolumeMode) == modeOrDefault(claim.Spec.VolumeMode) &&
		deref(pv.Spec.VolumeAttributesClassName) == deref(claim.Spec.VolumeAttributesClassName)
}

func modeOrDefault(m *v1.PersistentVolumeMode) v1.PersistentVolumeMode {
	if m == nil {
		return v1.PersistentVolumeFilesystem
	}
	return *m
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func offersModes(pv *v1.PersistentVolume, claim *v1.PersistentVolumeClaim) bool {
	return !slices.ContainsFunc(claim.Spec.AccessModes, func(m v1.PersistentVolumeAccessMode) bool {
		return !hasMode(pv.Spec.AccessModes, m)
	})
}
