package queue

import "strings"

// Resource is the kind of object that an event is about, as plugins register it.
type Resource string

// The resources of Kubernetes 1.36. Plugins register Pod; what arrives is AssignedPod (spec.nodeName is set) or
// UnschedulablePod (it is not). Wildcard stands for every kind. Kinds of custom resources are written
// "plural.version.group".
const (
	Pod                   Resource = "Pod"
	AssignedPod           Resource = "AssignedPod"
	UnschedulablePod      Resource = "UnschedulablePod"
	Node                  Resource = "Node"
	PersistentVolume      Resource = "PersistentVolume"
	PersistentVolumeClaim Resource = "PersistentVolumeClaim"
	CSINode               Resource = "storage.k8s.io/CSINode"
	CSIDriver             Resource = "storage.k8s.io/CSIDriver"
	VolumeAttachment      Resource = "storage.k8s.io/VolumeAttachment"
	CSIStorageCapacity    Resource = "storage.k8s.io/CSIStorageCapacity"
	StorageClass          Resource = "storage.k8s.io/StorageClass"
	ResourceClaim         Resource = "resource.k8s.io/ResourceClaim"
	ResourceSlice         Resource = "resource.k8s.io/ResourceSlice"
	DeviceClass           Resource = "resource.k8s.io/DeviceClass"
	PodGroup              Resource = "scheduling.k8s.io/PodGroup"
	Wildcard              Resource = "*"
)

func (r Resource) known() bool {
	switch r {
	case Pod, AssignedPod, UnschedulablePod, Node, PersistentVolume, PersistentVolumeClaim, CSINode, CSIDriver, VolumeAttachment,
		CSIStorageCapacity, StorageClass, ResourceClaim, ResourceSlice, DeviceClass, PodGroup, Wildcard:
		return true
	}
	return false
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

// Event is something that happens to an object of the cluster (when it arrives), or a kind of such happenings that a
// plugin wants to hear of (when it is registered). Label, if given, is the name that String returns; it plays no part in
// matching.
type Event struct {
	Resource Resource
	Action   Action
	Label    string
}

// String returns the label of metrics and logs: Label, or the resource and the action without a break (NodeAdd,
// NodeUpdateNodeLabel, AssignedPodDelete, storage.k8s.io/CSINodeUpdate).
func (e Event) String() string {
	if e.Label != "" {
		return e.Label
	}
	return string(e.Resource) + e.Action.String()
}

// IsWildcard reports whether the event is resource "*" with every action. An arriving wildcard event bypasses the
// registrations; a registered one matches whatever arrives.
func (e Event) IsWildcard() bool { return e.Resource == Wildcard && e.Action == All }

// Matches reports whether e, a registered event, covers the arriving one:
//
//	e is the wildcard event, or
//	the resources match (registered "*", equal, or registered Pod and arriving AssignedPod or UnschedulablePod),
//	and the masks share a bit, and the arriving mask as a number is at most the registered one.
//
// So a plugin registered for Update hears of a label change, but one registered for label changes does not hear of an
// update of no particular kind. The comparison of numbers is v1.36's; on every event that occurs it says the same as
// "the arriving bits are a subset".
func (e Event) Matches(arriving Event) bool {
	if e.IsWildcard() {
		return true
	}
	return e.Resource.covers(arriving.Resource) && e.Action&arriving.Action != 0 && arriving.Action <= e.Action
}

// sharesBit reports whether e, a registered event, covers the arriving one by the rule of 1.27 and 1.28: e is resource "*"
// with all actions of that time, or the resources match and the masks share a bit. By this rule a plugin registered for
// label changes hears of an update of no particular kind.
func (e Event) sharesBit(arriving Event) bool {
	const all = Add | Delete | UpdateNodeAllocatable | UpdateNodeLabel | UpdateNodeTaint | UpdateNodeCondition
	if e.Resource == Wildcard && e.Action&all == all {
		return true
	}
	return e.Resource.covers(arriving.Resource) && e.Action&arriving.Action != 0
}

func (r Resource) covers(arriving Resource) bool {
	return r == Wildcard || r == arriving || r == Pod && (arriving == AssignedPod || arriving == UnschedulablePod)
}

// Named events of Kubernetes 1.36: those that the scheduler itself sends, and the reasons that moves carry.
var (
	unschedulablePodAdd    = Event{UnschedulablePod, Add, ""}
	unschedulablePodUpdate = Event{UnschedulablePod, Update, ""}
	AssignedPodAdd         = Event{AssignedPod, Add, ""}
	assignedPodUpdate      = Event{AssignedPod, Update, ""}
	AssignedPodDelete      = Event{AssignedPod, Delete, ""}
	NodeAdd                = Event{Node, Add, ""}
	NodeDelete             = Event{Node, Delete, ""}
	unschedulableTimeout   = Event{Wildcard, All, "UnschedulableTimeout"}
	forceActivate          = Event{Wildcard, All, "ForceActivate"}
)

// Reasons of moves that are no cluster events.
const (
	backoffComplete        = "BackoffComplete"        // the backoff time has passed
	PopFromBackoff         = "PopFromBackoffQ"        // nothing was active, so the head of backoff is tried early
	scheduleAttemptFailure = "ScheduleAttemptFailure" // the attempt failed
	podPopped              = "PodPopped"              // the attempt began
	attemptDone            = "AttemptDone"            // the attempt ended without a return
	podDeleted             = "PodDeleted"             // the pod was deleted
	Duplicate              = "Duplicate"              // the popped pod was already in flight and is dropped
	Replaced               = "Replaced"               // the pod was added while it was queued: the old entry is dropped
	sharedFailure          = "SharedFailure"          // an equal pod failed (Options.ShareFailures)
	queueClosed            = "QueueClosed"            // the queue was closed while the attempt ran
)
