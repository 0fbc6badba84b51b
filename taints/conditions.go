package taints

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConditionKey returns the key of the taint that a node condition of this type and status gives, "" if it gives none
// (documentation, "Taint Nodes by Condition"):
//
//	Ready              False    node.kubernetes.io/not-ready
//	Ready              Unknown  node.kubernetes.io/unreachable
//	MemoryPressure     True     node.kubernetes.io/memory-pressure
//	DiskPressure       True     node.kubernetes.io/disk-pressure
//	PIDPressure        True     node.kubernetes.io/pid-pressure
//	NetworkUnavailable True     node.kubernetes.io/network-unavailable
func ConditionKey(condition v1.NodeConditionType, status v1.ConditionStatus) string {
	switch {
	case condition == v1.NodeReady && status == v1.ConditionFalse:
		return v1.TaintNodeNotReady
	case condition == v1.NodeReady && status == v1.ConditionUnknown:
		return v1.TaintNodeUnreachable
	case condition == v1.NodeMemoryPressure && status == v1.ConditionTrue:
		return v1.TaintNodeMemoryPressure
	case condition == v1.NodeDiskPressure && status == v1.ConditionTrue:
		return v1.TaintNodeDiskPressure
	case condition == v1.NodePIDPressure && status == v1.ConditionTrue:
		return v1.TaintNodePIDPressure
	case condition == v1.NodeNetworkUnavailable && status == v1.ConditionTrue:
		return v1.TaintNodeNetworkUnavailable
	}
	return ""
}

// managed reports whether the node lifecycle controller owns NoSchedule taints of this key.
func managed(key string) bool {
	switch key {
	case v1.TaintNodeNotReady, v1.TaintNodeUnreachable, v1.TaintNodeMemoryPressure, v1.TaintNodeDiskPressure,
		v1.TaintNodePIDPressure, v1.TaintNodeNetworkUnavailable, v1.TaintNodeUnschedulable:
		return true
	}
	return false
}

// ConditionTaints returns the NoSchedule taints that the node's conditions, in their order, and then spec.unschedulable
// ask for. The node's own taints are not looked at.
func ConditionTaints(node *v1.Node) []v1.Taint {
	var want []v1.Taint
	for _, c := range node.Status.Conditions {
		if key := ConditionKey(c.Type, c.Status); key != "" {
			want = append(want, v1.Taint{Key: key, Effect: v1.TaintEffectNoSchedule})
		}
	}
	if node.Spec.Unschedulable {
		want = append(want, v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule})
	}
	return want
}

// ConditionChange returns what the node lifecycle controller adds to and removes from the node's NoSchedule taints so
// that they mirror its conditions, at once and without rate limit. Only the seven keys of ConditionKey and
// node.kubernetes.io/unschedulable with effect NoSchedule are managed: one that nothing asks for is removed even when a
// user set it, other keys and effects are left alone, values are not compared. Added taints have no TimeAdded.
func ConditionChange(node *v1.Node) (add, remove []v1.Taint) {
	var have []v1.Taint
	for _, t := range node.Spec.Taints {
		if t.Effect == v1.TaintEffectNoSchedule && managed(t.Key) {
			have = append(have, t)
		}
	}
	return Difference(ConditionTaints(node), have)
}

// WithConditionTaints returns a copy of the node after ConditionChange: additions at the end with TimeAdded now, then the
// removals.
func WithConditionTaints(node *v1.Node, now time.Time) *v1.Node {
	add, remove := ConditionChange(node)
	node = node.DeepCopy()
	node.Spec.Taints = change(node.Spec.Taints, add, remove, now)
	return node
}

func change(list, add, remove []v1.Taint, now time.Time) []v1.Taint {
	for _, t := range add {
		t.TimeAdded = &metav1.Time{Time: now}
		list, _ = AddOrUpdate(list, t)
	}
	for _, t := range remove {
		list, _ = Remove(list, t.Key, t.Effect)
	}
	return list
}

// Ready returns the status of the node's Ready condition; ok is false when it has none.
func Ready(node *v1.Node) (status v1.ConditionStatus, ok bool) {
	i := slices.IndexFunc(node.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady })
	if i < 0 {
		return "", false
	}
	return node.Status.Conditions[i].Status, true
}

// HealthChange is what the node lifecycle controller does to the NoExecute taints of one node because of its Ready
// condition.
type HealthChange struct {
	// Wants is the key of the NoExecute taint the node should have: not-ready for Ready False, unreachable for Unknown,
	// "" otherwise.
	Wants string
	// Queue is set when the node goes into the rate-limited queue of its zone, from which it gets the taint in its turn.
	Queue bool
	// Add and Remove are done at once: the swap when the opposite taint is there, or the removal of both when Ready is
	// True.
	Add, Remove []v1.Taint
}

// Health returns the change for a node whose Ready condition has this status. The two taints exclude each other: the
// opposite one is swapped immediately, otherwise the node goes into the queue, which refuses a node that it knows
// already. A node that has the taint is no exception: it is queued, and its turn comes and changes nothing.
func Health(node *v1.Node, ready v1.ConditionStatus) HealthChange {
	noExecute := func(key string) v1.Taint { return v1.Taint{Key: key, Effect: v1.TaintEffectNoExecute} }
	notReady, unreachable := noExecute(v1.TaintNodeNotReady), noExecute(v1.TaintNodeUnreachable)
	list := node.Spec.Taints
	swap := func(want, opposite v1.Taint) HealthChange {
		h := HealthChange{Wants: want.Key}
		if h.Queue = !Has(list, &opposite); h.Queue {
			return h
		}
		h.Remove = []v1.Taint{opposite}
		if !Has(list, &want) {
			h.Add = []v1.Taint{want}
		}
		return h
	}
	switch ready {
	case v1.ConditionFalse:
		return swap(notReady, unreachable)
	case v1.ConditionUnknown:
		return swap(unreachable, notReady)
	case v1.ConditionTrue:
		var h HealthChange
		for _, t := range []v1.Taint{notReady, unreachable} {
			if Has(list, &t) {
				h.Remove = append(h.Remove, t)
			}
		}
		return h
	}
	return HealthChange{}
}

// WithHealth returns a copy of the node after the immediate part of Health, additions with TimeAdded now.
func WithHealth(node *v1.Node, h HealthChange, now time.Time) *v1.Node {
	node = node.DeepCopy()
	node.Spec.Taints = change(node.Spec.Taints, h.Add, h.Remove, now)
	return node
}

// WithAdmission returns a copy of a node as admission creates it (plugin TaintNodesByCondition, on by default): with the
// taint node.kubernetes.io/not-ready:NoSchedule unless it has one of that key and effect.
func WithAdmission(node *v1.Node) *v1.Node {
	node = node.DeepCopy()
	t := v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoSchedule}
	if !Has(node.Spec.Taints, &t) {
		node.Spec.Taints = append(node.Spec.Taints, t)
	}
	return node
}

// Uninitialized returns the taint of a node that an external cloud provider has not initialized yet, as the kubelet
// registers it: node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule.
func Uninitialized() v1.Taint {
	return v1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: v1.TaintEffectNoSchedule}
}
