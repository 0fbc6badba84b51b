package podgroup

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// InitiallyScheduled is the type of the condition that kube-scheduler writes on a PodGroup.
const InitiallyScheduled = "PodGroupInitiallyScheduled"

// The reasons of the condition [InitiallyScheduled]. Scheduled is that of status True.
const (
	ReasonScheduled      = "Scheduled"
	ReasonUnschedulable  = "Unschedulable"
	ReasonSchedulerError = "SchedulerError"
)

// Condition returns the condition to write after a decision about the group, without a time, and false when nothing is to be written:
// the group has the same condition already, or it has had enough pods once. A group that was scheduled stays scheduled.
func (g *Group) Condition(reason, message string) (metav1.Condition, bool) {
	c := metav1.Condition{Type: InitiallyScheduled, Status: metav1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: g.Generation}
	if reason == ReasonScheduled {
		c.Status, c.Message = metav1.ConditionTrue, ""
	}
	for _, old := range g.Conditions {
		if old.Type != InitiallyScheduled {
			continue
		}
		if old.Status == metav1.ConditionTrue && c.Status == metav1.ConditionFalse {
			return c, false
		}
		same := old.Status == c.Status && old.Reason == c.Reason && old.Message == c.Message && old.ObservedGeneration == c.ObservedGeneration
		return c, !same
	}
	return c, true
}
