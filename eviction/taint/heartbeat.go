package taint

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/taints/edit"
)

// Reasons and messages of conditions that turn Unknown because the kubelet is silent.
const (
	neverUpdatedReason  = "NodeStatusNeverUpdated"
	neverUpdatedMessage = "Kubelet never posted node status."
	unknownReason       = "NodeStatusUnknown"
	unknownMessage      = "Kubelet stopped posting node status."
)

// heartbeat is what is remembered of a node's signs of life. The zero value belongs to a node that was never looked at.
type heartbeat struct {
	Probe time.Time // when the last new sign of life was observed, by the controller's own clock
	// What was observed last; only changes count, the remote clock is never compared with the local one.
	Ready     bool      // there was a Ready condition
	Posted    time.Time // its lastHeartbeatTime
	Renewed   time.Time // the renewTime of the node's lease
	Initially bool      // set once the node was looked at
}

// Observe looks at a node's Ready condition and the renewTime of its lease (zero: none) at now. A sign of life is a
// lastHeartbeatTime that differs, a Ready condition that appears or disappears, and a renewTime that advanced; seeing the
// node for the first time counts too, except that a node without a Ready condition counts from its creation.
func (h heartbeat) Observe(node *v1.Node, renewed, now time.Time) heartbeat {
	next := heartbeat{Probe: h.Probe, Renewed: h.Renewed, Initially: true}
	if c := readyCondition(node); c != nil {
		next.Ready, next.Posted = true, c.LastHeartbeatTime.Time
	}
	switch {
	case !h.Initially && !next.Ready:
		next.Probe = node.CreationTimestamp.Time
	case !h.Initially || h.Ready != next.Ready || !h.Posted.Equal(next.Posted):
		next.Probe = now
	}
	if renewed.After(h.Renewed) {
		next.Renewed = renewed
		if h.Initially || next.Ready {
			next.Probe = now
		}
	}
	return next
}

func readyCondition(node *v1.Node) *v1.NodeCondition {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == v1.NodeReady {
			return c
		}
	}
	return nil
}

// Silent reports whether a node has been silent for longer than its grace period at now; one without a Ready condition has
// the start-up grace period.
func (h heartbeat) Silent(now time.Time, c Config) bool {
	grace := c.gracePeriod()
	if !h.Ready {
		grace = c.startupGrace()
	}
	return now.After(h.Probe.Add(grace))
}

// withUnknown returns a copy of a silent node, in which Ready, MemoryPressure, DiskPressure and PIDPressure are Unknown:
// missing ones are added with neverUpdatedReason, the others changed with unknownReason unless they are Unknown already.
// Other conditions stay. changed is false when there was nothing to do.
func withUnknown(node *v1.Node, now time.Time) (copied *v1.Node, changed bool) {
	node = node.DeepCopy()
	stamp := metav1.NewTime(now)
	for _, kind := range []v1.NodeConditionType{v1.NodeReady, v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure} {
		found := false
		for i := range node.Status.Conditions {
			c := &node.Status.Conditions[i]
			if c.Type != kind {
				continue
			}
			found = true
			if c.Status != v1.ConditionUnknown {
				c.Status, c.Reason, c.Message, c.LastTransitionTime = v1.ConditionUnknown, unknownReason, unknownMessage, stamp
				changed = true
			}
		}
		if !found {
			node.Status.Conditions = append(node.Status.Conditions, v1.NodeCondition{
				Type: kind, Status: v1.ConditionUnknown, Reason: neverUpdatedReason, Message: neverUpdatedMessage,
				LastHeartbeatTime: node.CreationTimestamp, LastTransitionTime: stamp,
			})
			changed = true
		}
	}
	return node, changed
}

// isReady reports whether the node's Ready condition is True.
func isReady(node *v1.Node) bool {
	status, _ := edit.Ready(node)
	return status == v1.ConditionTrue
}
