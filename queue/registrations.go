package queue

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/release"
)

// Hint is a queueing hint of one plugin. It reports whether an event could make pod schedulable: true is Queue in kube-scheduler's words,
// false is Skip. old and new are the object before and after the event; old is nil for an addition, new is nil for a deletion. An
// error counts as Queue, whatever the bool. A nil Hint always says Queue. A Hint must be pure: the queue does not promise how
// often or in which order it calls hints.
type Hint func(pod *v1.Pod, old, new any) (bool, error)

// Registration says that pods which Plugin rejected wait for [Event], if [Hint] agrees.
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

// DefaultEvents returns the registrations of the default profile of a release, as a new slice in a fixed order.
//
// hints has hints by plugin name; names of other plugins are ignored. nil means no hints but those of [SchedulingGates] and
// DefaultPreemption, which are always there unless hints replaces them. The packages of the plugins have the hints. A plugin
// without a hint tries its pods again on each event that it registers.
//
// The list does not have what New adds up to v1.36: (Node, [UpdateNodeTaint]) for each plugin that registers Node with Add and without
// UpdateNodeTaint. See [Options.ExactRegistrations].
func DefaultEvents(hints map[string]Hint, v release.Version) []Registration {
	var list []Registration
	reg := func(plugin string, events ...Event) {
		hint, given := hints[plugin]
		switch {
		case given:
		case plugin == pluginSchedulingGates:
			hint = sameUpdatedPod
		case plugin == pluginDefaultPreemption:
			hint = neverHelps
		}
		for _, e := range registered(v, plugin, events) {
			list = append(list, Registration{Plugin: plugin, Event: e, Hint: hintOf(plugin, e, hint)})
		}
	}
	on := func(kind string, a Action) Event { return Event{Resource: kind, Action: a} }
	reg(pluginSchedulingGates, on("Pod", UpdatePodSchedulingGatesEliminated))
	reg("NodeUnschedulable", on("Node", Add|UpdateNodeTaint), on("Pod", UpdatePodToleration))
	reg("NodeName", on("Node", Add))
	reg("TaintToleration", on("Node", Add|UpdateNodeTaint), on("Pod", UpdatePodToleration))
	reg("NodeAffinity", on("Node", Add|UpdateNodeLabel))
	reg("NodePorts", on("Pod", Delete), on("Node", Add))
	reg("NodeResourcesFit", on("Pod", Delete|UpdatePodScaleDown), on("Node", Add|UpdateNodeAllocatable), on(deviceClass, Add|Update))
	reg("VolumeRestrictions", on("Pod", Delete), on("PersistentVolumeClaim", Add), on("Node", Add))
	reg("NodeVolumeLimits", on("storage.k8s.io/CSINode", Add), on("storage.k8s.io/CSINode", Update), on("Pod", Delete), on("PersistentVolumeClaim", Add), on("storage.k8s.io/VolumeAttachment", Delete))
	reg("VolumeBinding", on("Node", Add|UpdateNodeLabel), on("PersistentVolume", Add|Update), on("PersistentVolumeClaim", Add|Update),
		on("storage.k8s.io/StorageClass", Add|Update), on("storage.k8s.io/CSINode", Add|Update), on("storage.k8s.io/CSIDriver", Update), on("storage.k8s.io/CSIStorageCapacity", Add|Update))
	reg("VolumeZone", on("Node", Add|UpdateNodeLabel), on("PersistentVolume", Add|Update), on("PersistentVolumeClaim", Add|Update), on("storage.k8s.io/StorageClass", Add))
	reg("PodTopologySpread", on("Pod", Add|UpdatePodLabel|UpdatePodToleration|Delete), on("Node", Add|Delete|UpdateNodeLabel|UpdateNodeTaint))
	reg("InterPodAffinity", on("Pod", Add|UpdatePodLabel|Delete), on("Node", Add|UpdateNodeLabel))
	reg("DynamicResources", on("Node", Add|UpdateNodeLabel|UpdateNodeAllocatable), on(resourceClaim, Add|Update),
		on("Pod", UpdatePodGeneratedResourceClaim), on(deviceClass, Add|Update), on("resource.k8s.io/ResourceSlice", Add|Update))
	reg("NodeDeclaredFeatures", on("Node", Add|UpdateNodeDeclaredFeature), on("Pod", Update))
	reg(pluginDefaultPreemption, on("Pod", Delete))
	return list
}

// UnregisteredEvents returns the registrations of a plugin that does not say what it waits for: every action of ten kinds.
// VolumeAttachment and ResourceSlice are not among the kinds. All HTTP extenders together count as such a plugin, with the
// name "Extender".
func UnregisteredEvents(plugin string) []Registration {
	kinds := []string{
		anyPod, nodeKind, "PersistentVolume", "PersistentVolumeClaim", "storage.k8s.io/CSINode", "storage.k8s.io/CSIDriver",
		"storage.k8s.io/CSIStorageCapacity", "storage.k8s.io/StorageClass", resourceClaim, deviceClass,
	}
	list := make([]Registration, len(kinds))
	for i, kind := range kinds {
		list[i] = Registration{Plugin: plugin, Event: Event{Resource: kind, Action: All}}
	}
	return list
}

// sameUpdatedPod is the hint of SchedulingGates: Queue if the event updates the waiting pod itself (same UID).
func sameUpdatedPod(pod *v1.Pod, _, new any) (bool, error) {
	updated, ok := new.(*v1.Pod)
	return ok && pod != nil && updated != nil && updated.UID == pod.UID, nil
}

// neverHelps always says Skip. DefaultPreemption registers the deletion of pods with this hint: such an event runs its gate
// again where another plugin asks for the pod, and moves no pod by itself.
func neverHelps(*v1.Pod, any, any) (bool, error) { return false, nil }
