package edit

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Ready returns the status of the node's Ready condition. ok is false when the node has no such condition.
func Ready(node *v1.Node) (status v1.ConditionStatus, ok bool) {
	i := slices.IndexFunc(node.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady })
	if i < 0 {
		return "", false
	}
	return node.Status.Conditions[i].Status, true
}

// HealthChange is what the node lifecycle controller does to the NoExecute taints of a node because of its Ready condition.
type HealthChange struct {
	// Wants is the key of the NoExecute taint that the node should have: not-ready for Ready False, unreachable for Ready
	// Unknown, "" otherwise.
	Wants string
	// Queue is set when the node must wait in the rate-limited queue of its zone for the taint.
	Queue bool
	// Add and Remove are the changes to make at once: a swap when the node has the opposite taint, or the removal of both
	// taints when Ready is True.
	Add, Remove []v1.Taint
}

// Health returns the change for a node whose Ready condition has this status. The taints not-ready and unreachable exclude
// each other: Health swaps the opposite taint at once, and otherwise queues the node. A node that has the right taint
// already is queued too; its turn then changes nothing.
func Health(node *v1.Node, ready v1.ConditionStatus) HealthChange {
	noExecute := func(key string) v1.Taint { return v1.Taint{Key: key, Effect: v1.TaintEffectNoExecute} }
	notReady, unreachable := noExecute(v1.TaintNodeNotReady), noExecute(v1.TaintNodeUnreachable)
	list := node.Spec.Taints
	swap := func(want, opposite v1.Taint) HealthChange {
		h := HealthChange{Wants: want.Key}
		if h.Queue = !hasTaint(list, &opposite); h.Queue {
			return h
		}
		h.Remove = []v1.Taint{opposite}
		if !hasTaint(list, &want) {
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
			if hasTaint(list, &t) {
				h.Remove = append(h.Remove, t)
			}
		}
		return h
	}
	return HealthChange{}
}

// Apply returns a copy of the node after the immediate changes. Additions have TimeAdded now.
func (h HealthChange) Apply(node *v1.Node, now time.Time) *v1.Node {
	node = node.DeepCopy()
	node.Spec.Taints = editTaints(node.Spec.Taints, h.Add, h.Remove, now)
	return node
}
