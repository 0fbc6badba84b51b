package edit

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// conditionKey returns the key of the taint for a node condition of this type and status, "" for no taint
// (documentation, "Taint Nodes by Condition"):
//
//	Ready              False    node.kubernetes.io/not-ready
//	Ready              Unknown  node.kubernetes.io/unreachable
//	MemoryPressure     True     node.kubernetes.io/memory-pressure
//	DiskPressure       True     node.kubernetes.io/disk-pressure
//	PIDPressure        True     node.kubernetes.io/pid-pressure
//	NetworkUnavailable True     node.kubernetes.io/network-unavailable
func conditionKey(condition v1.NodeConditionType, status v1.ConditionStatus) string {
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

// conditionTaints returns the NoSchedule taints for the conditions of the node, in their order, and then for
// spec.unschedulable. It does not look at the node's own taints.
func conditionTaints(node *v1.Node) []v1.Taint {
	var want []v1.Taint
	for _, c := range node.Status.Conditions {
		if key := conditionKey(c.Type, c.Status); key != "" {
			want = append(want, v1.Taint{Key: key, Effect: v1.TaintEffectNoSchedule})
		}
	}
	if node.Spec.Unschedulable {
		want = append(want, v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule})
	}
	return want
}

// MirrorConditions returns a copy of the node whose NoSchedule taints mirror its conditions, and the taints that were added
// and removed, as the node lifecycle controller does, without its rate limit. It adds first, at the end and with TimeAdded
// now, and then removes. added has no TimeAdded. When there is nothing to change the result is the node itself.
//
// The controller manages the effect NoSchedule of node.kubernetes.io/unschedulable and of the six keys of conditions. It
// removes a managed taint that no condition asks for, even one that a user set. It leaves other keys and effects alone and
// does not compare values.
func MirrorConditions(node *v1.Node, now time.Time) (result *v1.Node, added, removed []v1.Taint) {
	var have []v1.Taint
	for _, t := range node.Spec.Taints {
		if t.Effect == v1.TaintEffectNoSchedule && managed(t.Key) {
			have = append(have, t)
		}
	}
	added, removed = difference(conditionTaints(node), have)
	if len(added)+len(removed) == 0 {
		return node, nil, nil
	}
	result = node.DeepCopy()
	result.Spec.Taints = editTaints(node.Spec.Taints, added, removed, now)
	return result, added, removed
}

func editTaints(list, add, remove []v1.Taint, now time.Time) []v1.Taint {
	for _, t := range add {
		t.TimeAdded = &metav1.Time{Time: now}
		list = AddOrUpdate(list, t)
	}
	for _, t := range remove {
		list, _ = Remove(list, t.Key, t.Effect)
	}
	return list
}
