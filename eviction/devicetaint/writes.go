package devicetaint

import v1 "k8s.io/api/core/v1"

// What the controller writes. A deletion has the event [Marking], the condition of [Condition] and a DELETE with the pod's UID as precondition
// and the pod's own grace period. A pod that is gone or is being deleted loses its deletion without an event.
const (
	// EventReason is the reason of the pod events, of type Normal.
	EventReason = "DeviceTaintManagerEviction"
	// Marking is the message of the event of a pod that is deleted.
	Marking = "Marking for deletion"
	// Cancelling is the message of the event of a pod whose deletion waited and does not come any more.
	Cancelling = "Cancelling deletion"
)

// Condition returns the pod condition that is set before a deletion.
func Condition() v1.PodCondition {
	return v1.PodCondition{
		Type: v1.DisruptionTarget, Status: v1.ConditionTrue,
		Reason: "DeletionByDeviceTaintManager", Message: "Device Taint manager: deleting due to NoExecute taint",
	}
}
