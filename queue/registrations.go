package queue

import v1 "k8s.io/api/core/v1"

// Hint is a queueing hint: it reports whether the event described by old and new (the object before and after; old nil
// for an addition, new nil for a deletion) could make pod schedulable as far as one plugin is concerned: true is Queue,
// false is Skip. An error counts as Queue, whatever the bool. A nil Hint always says Queue. Hints must be pure: neither
// how often nor in which order they are called is promised.
type Hint func(pod *v1.Pod, old, new any) (bool, error)

// Registration says that pods which Plugin rejected wait for Event, if Hint agrees.
type Registration struct {
	Plugin string
	Event  Event
	Hint   Hint
}

// Names of the default profile's plugins that register events.
const (
	pluginSchedulingGates   = "SchedulingGates"
	pluginDefaultPreemption = "DefaultPreemption"
)

// DefaultEvents returns the registrations of the default profile of Kubernetes 1.36, as a new slice in a fixed order. The
// hints of SchedulingGates and DefaultPreemption are there; the others belong to the packages that know the plugins: join
// them with WithHints. Without its hint a plugin's pods are tried again on each event registered for it.
//
// That New adds (Node, UpdateNodeTaint) where a plugin registers Node with Add and without UpdateNodeTaint is not visible
// here: see Options.ExactRegistrations.
func DefaultEvents() []Registration {
	var list []Registration
	reg := func(plugin string, events ...Event) {
		for _, e := range events {
			list = append(list, Registration{Plugin: plugin, Event: e})
		}
	}
	on := func(r Resource, a Action) Event { return Event{Resource: r, Action: a} }
	reg(pluginSchedulingGates, on(Pod, UpdatePodSchedulingGatesEliminated))
	reg("NodeUnschedulable", on(Node, Add|UpdateNodeTaint), on(Pod, UpdatePodToleration))
	reg("NodeName", on(Node, Add))
	reg("TaintToleration", on(Node, Add|UpdateNodeTaint), on(Pod, UpdatePodToleration))
	reg("NodeAffinity", on(Node, Add|UpdateNodeLabel))
	reg("NodePorts", on(Pod, Delete), on(Node, Add))
	reg("NodeResourcesFit", on(Pod, Delete|UpdatePodScaleDown), on(Node, Add|UpdateNodeAllocatable), on(DeviceClass, Add|Update))
	reg("VolumeRestrictions", on(Pod, Delete), on(PersistentVolumeClaim, Add), on(Node, Add))
	reg("NodeVolumeLimits", on(CSINode, Add), on(CSINode, Update), on(Pod, Delete), on(PersistentVolumeClaim, Add), on(VolumeAttachment, Delete))
	reg("VolumeBinding", on(Node, Add|UpdateNodeLabel), on(PersistentVolume, Add|Update), on(PersistentVolumeClaim, Add|Update),
		on(StorageClass, Add|Update), on(CSINode, Add|Update), on(CSIDriver, Update), on(CSIStorageCapacity, Add|Update))
	reg("VolumeZone", on(Node, Add|UpdateNodeLabel), on(PersistentVolume, Add|Update), on(PersistentVolumeClaim, Add|Update), on(StorageClass, Add))
	reg("PodTopologySpread", on(Pod, Add|UpdatePodLabel|UpdatePodToleration|Delete), on(Node, Add|Delete|UpdateNodeLabel|UpdateNodeTaint))
	reg("InterPodAffinity", on(Pod, Add|UpdatePodLabel|Delete), on(Node, Add|UpdateNodeLabel))
	reg("DynamicResources", on(Node, Add|UpdateNodeLabel|UpdateNodeAllocatable), on(ResourceClaim, Add|Update),
		on(Pod, UpdatePodGeneratedResourceClaim), on(DeviceClass, Add|Update), on(ResourceSlice, Add|Update))
	reg("NodeDeclaredFeatures", on(Node, Add|UpdateNodeDeclaredFeature), on(Pod, Update))
	reg(pluginDefaultPreemption, on(Pod, Delete))
	return WithHints(list, map[string]Hint{pluginSchedulingGates: SameUpdatedPod, pluginDefaultPreemption: NeverHelps})
}

// GangEvents returns what GangScheduling registers where that feature, off by default, is on. Hints: none.
func GangEvents() []Registration {
	return []Registration{
		{Plugin: "GangScheduling", Event: Event{Resource: Pod, Action: Add}},
		{Plugin: "GangScheduling", Event: Event{Resource: PodGroup, Action: Add}},
	}
}

// UnregisteredEvents returns the registrations of a plugin that does not say what it waits for, and of the HTTP extenders,
// which count as one plugin "Extender": every action of ten kinds. VolumeAttachment and ResourceSlice are not among them.
func UnregisteredEvents(plugin string) []Registration {
	kinds := []Resource{Pod, Node, PersistentVolume, PersistentVolumeClaim, CSINode, CSIDriver, CSIStorageCapacity, StorageClass, ResourceClaim, DeviceClass}
	list := make([]Registration, len(kinds))
	for i, r := range kinds {
		list[i] = Registration{Plugin: plugin, Event: Event{Resource: r, Action: All}}
	}
	return list
}

// WithHints returns a copy of list in which every registration of a plugin named in hints has that hint; the others keep
// theirs.
func WithHints(list []Registration, hints map[string]Hint) []Registration {
	out := make([]Registration, len(list))
	for i, r := range list {
		if h, ok := hints[r.Plugin]; ok {
			r.Hint = h
		}
		out[i] = r
	}
	return out
}

// SameUpdatedPod is the hint of SchedulingGates: Queue if the event updates the waiting pod itself (same UID).
func SameUpdatedPod(pod *v1.Pod, _, new any) (bool, error) {
	updated, ok := new.(*v1.Pod)
	return ok && pod != nil && updated != nil && updated.UID == pod.UID, nil
}

// NeverHelps is the hint that always says Skip. DefaultPreemption registers the deletion of pods with it: such an event
// runs its gate again where another plugin asks for the pod, and helps nobody by itself.
func NeverHelps(*v1.Pod, any, any) (bool, error) { return false, nil }
