package queue

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/same"
	"github.com/podberth/podberth/release"
)

// PodUpdateEvents returns the events of a change from old to new, in this order:
//
//  1. [UpdatePodLabel]: the labels differ.
//  2. [UpdatePodScaleDown]: a resource of old's requests is smaller in new, or gone.
//  3. [UpdatePodSchedulingGatesEliminated]: old has scheduling gates, new has none.
//  4. [UpdatePodToleration]: the number of tolerations differs.
//  5. [UpdatePodGeneratedResourceClaim]: the generated resource claims differ, or the claim for extended resources does.
//
// Any other change (annotations, status, requests that grow, one gate of two) and no change give one event with the action
// Update. The resource is AssignedPod if new has a node. Else it is TargetPod, and a request that grows is an Update with a label of its
// own; up to v1.36 it is UnschedulablePod. The result is nil when old or new is nil.
func PodUpdateEvents(old, new *v1.Pod, v release.Version) []Event {
	if old == nil || new == nil {
		return nil
	}
	r, growth := changedPod(new, v)
	var events []Event
	when := func(changed bool, a Action) {
		if changed {
			events = append(events, Event{Resource: r, Action: a})
		}
	}
	when(!maps.Equal(old.Labels, new.Labels), UpdatePodLabel)
	when(scaledDown(old, new, v), UpdatePodScaleDown)
	if growth && scaledDown(new, old, v) {
		events = append(events, Event{r, Update, r + "UpdatePodScaleUp"})
	}
	when(len(old.Spec.SchedulingGates) > 0 && len(new.Spec.SchedulingGates) == 0, UpdatePodSchedulingGatesEliminated)
	when(len(old.Spec.Tolerations) != len(new.Spec.Tolerations), UpdatePodToleration)
	when(!slices.EqualFunc(old.Status.ResourceClaimStatuses, new.Status.ResourceClaimStatuses, sameClaim) ||
		!sameExtendedClaim(old.Status.ExtendedResourceClaimStatus, new.Status.ExtendedResourceClaimStatus), UpdatePodGeneratedResourceClaim)
	when(len(events) == 0, Update)
	return events
}

func sameClaim(a, b v1.PodResourceClaimStatus) bool {
	if a.Name != b.Name || (a.ResourceClaimName == nil) != (b.ResourceClaimName == nil) {
		return false
	}
	return a.ResourceClaimName == nil || *a.ResourceClaimName == *b.ResourceClaimName
}

func sameExtendedClaim(a, b *v1.PodExtendedResourceClaimStatus) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ResourceClaimName == b.ResourceClaimName && slices.Equal(a.RequestMappings, b.RequestMappings)
}

// NodeUpdateEvents returns the events of a change from old to new, in this order:
//
//  1. [UpdateNodeTaint]: the node was uncordoned.
//  2. [UpdateNodeAllocatable], [UpdateNodeLabel], UpdateNodeTaint: status.allocatable, the labels, the taints differ.
//  3. [UpdateNodeCondition]: the status of a condition differs.
//  4. [UpdateNodeAnnotation], [UpdateNodeDeclaredFeature]: the annotations, status.declaredFeatures differ.
//
// Heartbeats, reasons of conditions and cordoning are no events, so the result may be nil. Uncordoning together with a change
// of taints gives UpdateNodeTaint twice. The result is nil when old or new is nil.
func NodeUpdateEvents(old, new *v1.Node) []Event {
	if old == nil || new == nil {
		return nil
	}
	var events []Event
	when := func(changed bool, a Action) {
		if changed {
			events = append(events, Event{Resource: "Node", Action: a})
		}
	}
	when(old.Spec.Unschedulable && !new.Spec.Unschedulable, UpdateNodeTaint)
	when(!sameQuantities(old.Status.Allocatable, new.Status.Allocatable), UpdateNodeAllocatable)
	when(!maps.Equal(old.Labels, new.Labels), UpdateNodeLabel)
	when(!slices.EqualFunc(old.Spec.Taints, new.Spec.Taints, same.Taint), UpdateNodeTaint)
	when(!maps.Equal(conditions(old), conditions(new)), UpdateNodeCondition)
	when(!maps.Equal(old.Annotations, new.Annotations), UpdateNodeAnnotation)
	when(!slices.Equal(old.Status.DeclaredFeatures, new.Status.DeclaredFeatures), UpdateNodeDeclaredFeature)
	return events
}

func sameQuantities(a, b v1.ResourceList) bool {
	if len(a) != len(b) {
		return false
	}
	for name, q := range a {
		if other, ok := b[name]; !ok || q.Cmp(other) != 0 {
			return false
		}
	}
	return true
}

func conditions(n *v1.Node) map[v1.NodeConditionType]v1.ConditionStatus {
	m := make(map[v1.NodeConditionType]v1.ConditionStatus, len(n.Status.Conditions))
	for _, c := range n.Status.Conditions {
		m[c.Type] = c.Status
	}
	return m
}
