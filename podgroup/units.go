package podgroup

import (
	"cmp"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Kind is what a unit of preemption is made of.
type Kind int

// The kinds, the less important first.
const (
	// SinglePod is a pod without a group.
	SinglePod Kind = iota
	// GroupUnit is a group, or a pod of a group that leaves alone, also of one without an object.
	GroupUnit
	// CompositeUnit is a composite group.
	CompositeUnit
)

// Unit is what leaves together when a more important pod or group needs room.
type Unit struct {
	Kind     Kind
	Priority int32
	Pods     int
	// Start is the earliest start of the pods; a pod without a start time starts now.
	Start time.Time
}

// CompareUnits orders units, the more important first:
//
//  1. Higher priority.
//  2. A composite group before a group or a pod of a group, and that before a pod without group.
//  3. More pods.
//  4. Earlier start.
//
// Units that are equal in all are equally important.
func CompareUnits(a, b Unit) int {
	switch {
	case a.Priority != b.Priority:
		return cmp.Compare(b.Priority, a.Priority)
	case a.Kind != b.Kind:
		return cmp.Compare(b.Kind, a.Kind)
	case a.Pods != b.Pods:
		return cmp.Compare(b.Pods, a.Pods)
	}
	return a.Start.Compare(b.Start)
}

// UnitOf returns the unit that a pod on a node belongs to: the highest group or composite group above the pod with disruption mode All;
// nil when the pod leaves alone. priority is the priority of the root of the pod's tree. ok is false for a pod without a group, or with
// a group without an object: it leaves alone and has its own priority. Without the gate Composites only the pod's group counts.
//
// A chain of parents ends at an object that is missing, and at [MaxDepth].
func UnitOf(o Objects, pod *v1.Pod, g Gates) (unit *Node, priority int32, ok bool) {
	name, has := Of(pod)
	if !has {
		return nil, 0, false
	}
	group := o.Group(pod.Namespace, name)
	if group == nil {
		return nil, 0, false
	}
	n := groupNode(group)
	for depth := 1; ; depth++ {
		if n.DisruptAll {
			unit = n
		}
		var parent *Composite
		if g.Composites && n.Spec.Parent != "" && depth < unitDepth {
			parent = o.Composite(pod.Namespace, n.Spec.Parent)
		}
		if parent == nil {
			return unit, n.EffectivePriority(), true
		}
		n = compositeNode(parent)
	}
}

// unitDepth is how many levels count for victims, the leaf included.
const unitDepth = 4
