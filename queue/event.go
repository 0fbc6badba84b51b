package queue

import "strings"

// Kinds that this package decides by. Plugins register anyPod. What arrives is assignedPod (spec.nodeName is set) or
// unschedulablePod (spec.nodeName is empty); in v1.37 targetPod (the waiting pod itself) and unscheduledPod (another one) in place
// of unschedulablePod. anyKind covers every kind.
const (
	anyPod           = "Pod"
	assignedPod      = "AssignedPod"
	unschedulablePod = "UnschedulablePod"
	targetPod        = "TargetPod"
	unscheduledPod   = "UnscheduledPod"
	nodeKind         = "Node"
	resourceClaim    = "resource.k8s.io/ResourceClaim"
	deviceClass      = "resource.k8s.io/DeviceClass"
	anyKind          = "*"
)

// hasEvents reports whether the release has events of the kind.
func (o *Options) hasEvents(kind string) bool {
	switch kind {
	case anyPod, assignedPod, unschedulablePod, nodeKind, "PersistentVolume", "PersistentVolumeClaim",
		"storage.k8s.io/CSINode", "storage.k8s.io/CSIDriver", "storage.k8s.io/VolumeAttachment",
		"storage.k8s.io/CSIStorageCapacity", "storage.k8s.io/StorageClass", resourceClaim, "resource.k8s.io/ResourceSlice",
		deviceClass, podGroup, anyKind:
		return true
	}
	return o.tellsPodsApart() && (kind == targetPod || kind == unscheduledPod || kind == compositePodGroup)
}

// Action is a set of bits: what happened to the object.
type Action int64

// The actions of Kubernetes 1.36. Two actions have something in common when their bitwise AND is not zero.
const (
	Add                                Action = 1 << iota // 1
	Delete                                                // 2
	UpdateNodeAllocatable                                 // 4
	UpdateNodeLabel                                       // 8
	UpdateNodeTaint                                       // 16
	UpdateNodeCondition                                   // 32
	UpdateNodeAnnotation                                  // 64
	UpdateNodeDeclaredFeature                             // 128
	UpdatePodLabel                                        // 256
	UpdatePodScaleDown                                    // 512
	UpdatePodToleration                                   // 1024
	UpdatePodSchedulingGatesEliminated                    // 2048
	UpdatePodGeneratedResourceClaim                       // 4096

	// All is every action: 8191.
	All Action = 1<<iota - 1
	// Update is every kind of update, and an update of no particular kind: 8188.
	Update = All &^ (Add | Delete)
)

var actionNames = []struct {
	action Action
	name   string
}{
	{Add, "Add"}, {Delete, "Delete"}, {Update, "Update"},
	{UpdateNodeAllocatable, "UpdateNodeAllocatable"}, {UpdateNodeLabel, "UpdateNodeLabel"},
	{UpdateNodeTaint, "UpdateNodeTaint"}, {UpdateNodeCondition, "UpdateNodeCondition"},
	{UpdateNodeAnnotation, "UpdateNodeAnnotation"}, {UpdateNodeDeclaredFeature, "UpdateNodeDeclaredFeature"},
	{UpdatePodLabel, "UpdatePodLabel"}, {UpdatePodScaleDown, "UpdatePodScaleDown"},
	{UpdatePodToleration, "UpdatePodToleration"}, {UpdatePodSchedulingGatesEliminated, "UpdatePodSchedulingGatesEliminated"},
	{UpdatePodGeneratedResourceClaim, "UpdatePodGeneratedResourceClaim"},
}

// String names the action: "Add", "UpdateNodeLabel", "All"; several bits are joined by "|", no bit is "None".
func (a Action) String() string {
	switch a {
	case 0:
		return "None"
	case All:
		return "All"
	}
	var names []string
	for _, n := range actionNames {
		if a&n.action == n.action {
			names = append(names, n.name)
			a &^= n.action
		}
	}
	return strings.Join(names, "|")
}

// Event is a change of an object of the cluster when it arrives, or a kind of change that a plugin waits for when it is
// registered. The zero value covers nothing.
//
// Resource is the kind of the object:
//
//   - "Node", "PersistentVolume" and "PersistentVolumeClaim".
//   - "storage.k8s.io/" with CSINode, CSIDriver, VolumeAttachment, CSIStorageCapacity or StorageClass.
//   - "resource.k8s.io/" with ResourceClaim, ResourceSlice or DeviceClass, and "scheduling.k8s.io/PodGroup".
//   - "Pod" where a plugin registers. "AssignedPod" (spec.nodeName is set) or "UnschedulablePod" (spec.nodeName is empty)
//     where the event arrives. In v1.37 "AssignedPod", "TargetPod" (the waiting pod itself) or "UnscheduledPod" at both places.
//   - "*" for every kind, and "plural.version.group" for a custom resource.
type Event struct {
	Resource string
	Action   Action
	// Label is the name that String returns. Matching ignores it.
	Label string
}

// String returns the label of metrics and logs: Label, or the resource and the action without a break (NodeAdd,
// NodeUpdateNodeLabel, AssignedPodDelete, storage.k8s.io/CSINodeUpdate).
func (e Event) String() string {
	if e.Label != "" {
		return e.Label
	}
	return e.Resource + e.Action.String()
}

// isWildcard reports whether the event is resource "*" with every action. An arriving wildcard event bypasses the
// registrations; a registered one matches whatever arrives.
func (e Event) isWildcard() bool { return e.Resource == anyKind && e.Action == All }

// matches reports whether e, a registered event, covers the arriving one:
//
//	e is the wildcard event, or
//	the resources match (registered "*", equal, or registered Pod and arriving AssignedPod or UnschedulablePod),
//	and the masks share a bit, and the arriving mask as a number is at most the registered one.
//
// So a plugin registered for Update hears of a label change, but one registered for label changes does not hear of an
// update of no particular kind. The comparison of numbers is v1.37's; on every event that occurs it says the same as
// "the arriving bits are a subset".
func (e Event) matches(arriving Event) bool {
	if e.isWildcard() {
		return true
	}
	return covers(e.Resource, arriving.Resource) && e.Action&arriving.Action != 0 && arriving.Action <= e.Action
}

// sharesBit reports whether e, a registered event, covers the arriving one by the rule of 1.27 and 1.28: e is resource "*"
// with all actions of that time, or the resources match and the masks share a bit. By this rule a plugin registered for
// label changes hears of an update of no particular kind.
func (e Event) sharesBit(arriving Event) bool {
	const all = Add | Delete | UpdateNodeAllocatable | UpdateNodeLabel | UpdateNodeTaint | UpdateNodeCondition
	if e.Resource == anyKind && e.Action&all == all {
		return true
	}
	return covers(e.Resource, arriving.Resource) && e.Action&arriving.Action != 0
}

// covers reports whether a registered kind includes an arriving kind.
func covers(registered, arriving string) bool {
	if registered != anyPod {
		return registered == anyKind || registered == arriving
	}
	switch arriving {
	case anyPod, assignedPod, unschedulablePod, targetPod, unscheduledPod:
		return true
	}
	return false
}

// Named events of Kubernetes 1.36 that the queue itself makes.
var (
	unschedulableTimeout = Event{anyKind, All, "UnschedulableTimeout"}
	forceActivate        = Event{anyKind, All, "ForceActivate"}
)

// Reasons of moves that are no cluster events.
const (
	backoffComplete        = "BackoffComplete"        // the backoff time has passed
	popFromBackoff         = "PopFromBackoffQ"        // nothing was active, so Pop takes the head of backoff early
	scheduleAttemptFailure = "ScheduleAttemptFailure" // the attempt failed
	podPopped              = "PodPopped"              // the attempt began
	attemptDone            = "AttemptDone"            // the attempt ended without a return
	podDeleted             = "PodDeleted"             // the pod was deleted
	duplicate              = "Duplicate"              // the popped pod was already in flight: the entry is dropped
	replaced               = "Replaced"               // the pod was added while it was queued: the old entry is dropped
	sharedFailure          = "SharedFailure"          // an equal pod failed (Options.ShareFailures)
	queueClosed            = "QueueClosed"            // the queue was closed while the attempt ran
)
