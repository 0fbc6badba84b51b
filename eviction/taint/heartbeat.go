package taint

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/taints/edit"
)

// Reasons and messages of conditions that become Unknown because the kubelet is silent.
const (
	neverUpdatedReason  = "NodeStatusNeverUpdated"
	neverUpdatedMessage = "Kubelet never posted node status."
	unknownReason       = "NodeStatusUnknown"
	unknownMessage      = "Kubelet stopped posting node status."
)

// heartbeat holds what was observed of a node's kubelet. The zero value is that of a node that was never observed.
type heartbeat struct {
	Probe time.Time // when the last new sign of life was observed, on the controller's own clock
	// The last observation. Only changes matter: times of the node's clock are never compared with the controller's clock.
	Ready     bool      // the node had a Ready condition
	Posted    time.Time // lastHeartbeatTime of the Ready condition
	Renewed   time.Time // the renewTime of the node's lease
	Initially bool      // the node was observed at least once
}

// Observe observes a node's Ready condition and the renewTime of its lease (zero: no lease) at now (rules XZ3.1 and XZ3.2).
// These are signs of life: another lastHeartbeatTime, a Ready condition that appears or disappears, a later renewTime, and
// the first observation of a node. A node without a Ready condition counts from its creation.
func (h heartbeat) Observe(node *v1.Node, renewed, now time.Time) heartbeat {
	next := heartbeat{Probe: h.Probe, Renewed: h.Renewed, Initially: true}
	if c := readyCondition(node); c != nil {
		next.Ready, next.Posted = true, c.LastHeartbeatTime.Time
	}
	switch {
	case !h.Initially && !next.Ready:
		next.Probe = node.CreationTimestamp.Time
	case h.Ready != next.Ready || !h.Posted.Equal(next.Posted):
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

// Silent reports whether the node has been silent for longer than its grace period at now. A node without a Ready condition
// has the start-up grace period (rule XZ3.2).
func (h heartbeat) Silent(now time.Time, c Config) bool {
	grace := c.gracePeriod()
	if !h.Ready {
		grace = c.startupGrace()
	}
	return now.After(h.Probe.Add(grace))
}

// withUnknown returns a copy of a silent node in which Ready, MemoryPressure, DiskPressure and PIDPressure are Unknown
// (rule XZ3.3). It adds missing conditions with neverUpdatedReason, and changes the others with unknownReason unless they
// are Unknown already. Other conditions stay. changed is false when there was nothing to do.
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
