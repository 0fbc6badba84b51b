package taint

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// What the controller writes. It tries condition and deletion 5 times, 10 ms apart. A pod that does not exist any more
// counts as deleted.
const (
	// EventReason is the reason of the pod events, of type Normal.
	EventReason = "TaintManagerEviction"
	// conditionReason and conditionMessage are those of the pod condition DisruptionTarget=True that the controller sets
	// before a deletion.
	conditionReason  = "DeletionByTaintManager"
	conditionMessage = "Taint manager: deleting due to NoExecute taint"
)

// Action is one thing that happens to a pod.
type Action struct {
	// What is EntryStarted or EntryMoved: nothing is written. EntryCancelled: an event is written. EntryEvicted: an event, a condition and
	// a DELETE with the pod's own grace period are written.
	What string
	At   time.Time // when the action was decided
	Pod  types.NamespacedName
	UID  types.UID
	Node string
	// Fire is the end of the timer (started, moved) or the end that it would have had (cancelled). For evicted it is the
	// end that was reached, zero for a pod without a timer.
	Fire time.Time
	// Cause is the taint that decided (started, moved, evicted); zero for cancelled.
	Cause v1.Taint
}

// Event returns the message of the pod event, "" when no event is written (rule XT7.1).
func (a Action) Event() string {
	switch a.What {
	case EntryCancelled:
		return "Cancelling deletion of Pod " + a.Pod.String()
	case EntryEvicted:
		return "Marking for deletion Pod " + a.Pod.String()
	}
	return ""
}

// Condition returns the pod condition that is set before a deletion (rule XT7.1).
func (a Action) Condition() v1.PodCondition {
	return v1.PodCondition{
		Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: conditionReason, Message: conditionMessage,
	}
}
