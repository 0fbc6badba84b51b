package volumes

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/same"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/resources"
)

// bindingFilter is a pod's side of VolumeBinding.
type bindingFilter struct {
	pre     filter.PreFilterResult
	bound   []boundClaim
	delayed []delayedClaim // claims to match with volumes, by request, then the other claims in the order of the pod
	objects Objects
	options Options

	errs       []string          // what makes the plugin fail
	unreadable resources.Verdict // verdict for a claim whose selector cannot be read, 0 without such a claim
}

// boundClaim is a claim with a volume.
type boundClaim struct {
	claim    *v1.PersistentVolumeClaim
	volume   *v1.PersistentVolume // nil: missing
	affinity *affinity.Selector
	migrated *migrated // how a node that has migrated the plugin sees the volume; nil: as written
}

// delayedClaim is a claim that waits for its first consumer.
type delayedClaim struct {
	claim      *v1.PersistentVolumeClaim
	class      *storagev1.StorageClass
	selected   string     // node for which the claim is being provisioned already, "" without
	candidates candidates // of a State
	capacities []capacity
	counted    bool // whether to check capacity
	topologies []topology
	labels     labels.Selector // of the volumes that the claim takes; nil: it takes none
	request    resource.Quantity
	ask        bool // whether the claim names a storage request
}

// capacity is a CSIStorageCapacity with room for the claim.
type capacity struct {
	object *storagev1.CSIStorageCapacity
	nodes  labels.Selector
}

// topology is one term of allowedTopologies.
type topology []v1.TopologySelectorLabelRequirement

const bindingPlugin = "VolumeBinding"

// Binding compiles the filter VolumeBinding: the node must reach every bound volume, and for every claim that waits for its
// first consumer the node must have a free volume or a provisioner. O(volumes of the pod), and O(CSIStorageCapacities) for each
// claim that waits.
//
// PreFilter answers Skip without claims, UnschedulableAndUnresolvable for a claim that cannot be used or has to be bound
// already, Error for a class without binding mode, and else Success.
//
// On is O(PersistentVolumes) for each claim that waits. Of the PersistentVolumes in a [List], On reads only the volumes of the
// claim's class. When the cluster offers Classes, On decides each class of equal nodes once. Otherwise Check decides. After a
// change of the ledger, compile the pod again.
func (p *Pod) Binding() Evaluator[filter.Cluster, BindingState] { return p.binding() }

func (p *Pod) binding() *bindingFilter {
	e := &bindingFilter{pre: result(bindingPlugin, filter.Success), objects: p.objects, options: p.options}
	if len(p.claims) == 0 {
		e.pre.Code = filter.Skip
		return e
	}
	for i := range p.claims {
		if reason := p.unusable(&p.claims[i]); reason != "" {
			e.pre = result(bindingPlugin, filter.UnschedulableAndUnresolvable, reason)
			return e
		}
	}
	immediate := false
	for i := range p.claims {
		claim := p.claims[i].claim
		if completed(claim) {
			e.bound = append(e.bound, p.boundClaim(claim, e))
			continue
		}
		sc, ok := p.class(class(claim))
		switch {
		case !ok:
			immediate = true
		case sc.VolumeBindingMode == nil:
			e.pre = result(bindingPlugin, filter.Error, modeNotSet(sc.Name))
			return e
		case *sc.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer && claim.Spec.VolumeName == "":
			e.delayed = append(e.delayed, p.delayedClaim(claim, sc, e))
		default:
			immediate = true
		}
	}
	if immediate {
		e.pre = result(bindingPlugin, filter.UnschedulableAndUnresolvable, "pod has unbound immediate PersistentVolumeClaims")
	}
	slices.SortStableFunc(e.delayed, compareDelayed)
	return e
}

// unusable returns why a claim rejects the pod at once, "" when it does not.
func (p *Pod) unusable(c *podClaim) string {
	switch {
	case c.claim == nil && c.ephemeral:
		return `waiting for ephemeral volume controller to create the persistentvolumeclaim "` + c.name + `"`
	case c.claim == nil:
		return claimNotFound(c.name)
	case c.claim.Status.Phase == v1.ClaimLost:
		return `persistentvolumeclaim "` + c.name + `" bound to non-existent persistentvolume "` + c.claim.Spec.VolumeName + `"`
	case c.claim.DeletionTimestamp != nil:
		return `persistentvolumeclaim "` + c.name + `" is being deleted`
	case c.ephemeral && !owned(p.pod, c.claim):
		return notOwner(p.pod, c.claim)
	}
	return ""
}

// completed reports whether a claim is bound for good.
func completed(claim *v1.PersistentVolumeClaim) bool {
	_, ok := claim.Annotations[annBindCompleted]
	return ok && claim.Spec.VolumeName != ""
}

func (p *Pod) boundClaim(claim *v1.PersistentVolumeClaim, e *bindingFilter) boundClaim {
	b := boundClaim{claim: claim}
	if pv, ok := lookUp(p.objects.PersistentVolumes, "", claim.Spec.VolumeName); ok {
		b.volume, b.affinity = pv, nodeAffinity(pv)
		m, err := migrate(pv)
		if err != nil {
			m.failed = e.fails(err)
		}
		b.migrated = m
	}
	return b
}

// fails keeps the reason for which the plugin fails, and returns the verdict of this failure.
func (e *bindingFilter) fails(err error) resources.Verdict {
	e.errs = append(e.errs, err.Error())
	return bindingError | min(resources.Verdict(len(e.errs)-1), maxErrors)<<errorShift
}

// nodeAffinity compiles the node affinity of a volume. nil means that every node reaches the volume. A selector that cannot
// be read matches no node.
func nodeAffinity(pv *v1.PersistentVolume) *affinity.Selector {
	if pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil {
		return nil
	}
	s, _ := affinity.CompileSelector(pv.Spec.NodeAffinity.Required)
	return s
}

func (p *Pod) delayedClaim(claim *v1.PersistentVolumeClaim, sc *storagev1.StorageClass, e *bindingFilter) delayedClaim {
	d := delayedClaim{claim: claim, class: sc, selected: claim.Annotations[AnnSelectedNode]}
	d.request, d.ask = claim.Spec.Resources.Requests[v1.ResourceStorage]
	for _, t := range sc.AllowedTopologies {
		d.topologies = append(d.topologies, t.MatchLabelExpressions)
	}
	if d.selected == "" {
		d.labels = labels.Everything()
		if claim.Spec.Selector != nil {
			s, err := same.AsSelector(claim.Spec.Selector)
			if err != nil && e.unreadable == 0 {
				e.unreadable = e.fails(err)
			}
			d.labels = s
		}
	}
	if driver, ok := lookUp(p.objects.CSIDrivers, "", sc.Provisioner); ok && d.ask && driver.Spec.StorageCapacity != nil && *driver.Spec.StorageCapacity {
		d.counted = true
		d.capacities = p.capacities(sc.Name, d.request)
	}
	return d
}

// capacities returns the published capacities of a class that have room for the request. An object without nodeTopology
// is available nowhere.
func (p *Pod) capacities(class string, request resource.Quantity) []capacity {
	var out []capacity
	for o := range allOf(p.objects.CSIStorageCapacities) {
		if o.StorageClassName != class || o.NodeTopology == nil {
			continue
		}
		most := o.MaximumVolumeSize
		if most == nil {
			most = o.Capacity
		}
		if most == nil {
			continue
		}
		if m := *most; m.Cmp(request) < 0 { // a copy, because Cmp may change the quantity
			continue
		}
		nodes, err := same.AsSelector(o.NodeTopology)
		if err != nil { // available nowhere, like an object without topology
			continue
		}
		out = append(out, capacity{o, nodes})
	}
	return out
}

// compareDelayed orders claims for matching and provisioning:
//
//  1. claims that are being provisioned for a selected node before other claims,
//  2. of the other claims, smaller storage request first,
//  3. order in the pod (the sort is stable).
func compareDelayed(a, b delayedClaim) int {
	switch selected := a.selected != ""; {
	case selected != (b.selected != ""):
		if selected {
			return -1
		}
		return 1
	case selected:
		return 0
	}
	return a.request.Cmp(b.request)
}

func (e *bindingFilter) PreFilter() filter.PreFilterResult { return e.pre }

// reads appends the parts of a node on which the verdict depends.
func (e *bindingFilter) reads(dst []string) []string {
	for k := range e.bound {
		dst = e.bound[k].affinity.Reads(dst)
		if m := e.bound[k].migrated; m != nil {
			dst = append(m.affinity.Reads(dst), "name") // of the CSINode
		}
	}
	for k := range e.delayed {
		d := &e.delayed[k]
		if d.selected != "" {
			dst = append(dst, "name")
		}
		for j := range d.candidates.list {
			dst = d.candidates.list[j].affinity.Reads(dst)
		}
		for _, t := range d.topologies {
			for j := range t {
				dst = append(dst, "label:"+t[j].Key)
			}
		}
		for j := range d.capacities {
			requirements, _ := d.capacities[j].nodes.Requirements()
			for _, r := range requirements {
				dst = append(dst, "label:"+r.Key())
			}
		}
	}
	slices.Sort(dst)
	return slices.Compact(dst)
}

func (e *bindingFilter) On(c filter.Cluster) BindingState {
	e = e.withVolumes()
	s := &bindingState{binding: e, cluster: c}
	if !e.idle() {
		s.classes = view.Classify(c, e.reads(nil), e.check)
	}
	return s
}
