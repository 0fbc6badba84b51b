package taint

import (
	"fmt"
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

// ActionKind says what happens to a pod.
type ActionKind uint8

const (
	// Started: a timer was started. Nothing is written.
	Started ActionKind = iota + 1
	// Moved: a timer has another end (Options.RecomputeOnChange). Nothing is written.
	Moved
	// Cancelled: a timer was stopped. An event is written.
	Cancelled
	// Deleted: the pod is deleted now. An event, a condition and a DELETE with the pod's own grace period are written.
	Deleted
)

// String returns the name of the kind.
func (k ActionKind) String() string {
	switch k {
	case Started:
		return "Started"
	case Moved:
		return "Moved"
	case Cancelled:
		return "Cancelled"
	case Deleted:
		return "Deleted"
	}
	return fmt.Sprintf("ActionKind(%d)", uint8(k))
}

// Action is one thing that happens to a pod.
type Action struct {
	Kind ActionKind
	At   time.Time // when the action was decided
	Pod  types.NamespacedName
	UID  types.UID
	Node string
	// Fire is the end of the timer (Started, Moved) or the end that it would have had (Cancelled). For Deleted it is the
	// end that was reached, zero for a pod without a timer.
	Fire time.Time
	// Cause is the taint that decided (Started, Moved, Deleted); zero for Cancelled.
	Cause v1.Taint
}

// Event returns the message of the pod event, "" when no event is written (rule XT7.1).
func (a Action) Event() string {
	switch a.Kind {
	case Cancelled:
		return "Cancelling deletion of Pod " + a.Pod.String()
	case Deleted:
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
