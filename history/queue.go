package history

import (
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
)

// Actions of Kubernetes 1.27 and 1.28 that cover several kinds of change. The actions Add to UpdateNodeCondition are those
// of 1.36. queue.Legacy.CycleCounter compares such actions bit by bit.
const (
	UpdateActions128 = queue.UpdateNodeAllocatable | queue.UpdateNodeLabel | queue.UpdateNodeTaint | queue.UpdateNodeCondition // 60
	AllActions128    = queue.Add | queue.Delete | UpdateActions128                                                             // 63
)

// Events128 returns a new map from names to events of Kubernetes 1.28. The actions of WildCardEvent and UnschedulableTimeout
// are queue.All, because package queue takes only that action for a wildcard.
func Events128() map[string]queue.Event {
	event := func(r string, a queue.Action, label string) queue.Event {
		return queue.Event{Resource: r, Action: a, Label: label}
	}
	list := []queue.Event{
		event("AssignedPod", queue.Add, "AssignedPodAdd"),
		event("Node", queue.Add, "NodeAdd"),
		event("AssignedPod", UpdateActions128, "AssignedPodUpdate"),
		event("AssignedPod", queue.Delete, "AssignedPodDelete"),
		event("Node", queue.UpdateNodeTaint, "NodeSpecUnschedulableChange"),
		event("Node", queue.UpdateNodeAllocatable, "NodeAllocatableChange"),
		event("Node", queue.UpdateNodeLabel, "NodeLabelChange"),
		event("Node", queue.UpdateNodeTaint, "NodeTaintChange"),
		event("Node", queue.UpdateNodeCondition, "NodeConditionChange"),
		event("PersistentVolume", queue.Add, "PvAdd"),
		event("PersistentVolume", UpdateActions128, "PvUpdate"),
		event("PersistentVolumeClaim", queue.Add, "PvcAdd"),
		event("PersistentVolumeClaim", UpdateActions128, "PvcUpdate"),
		event("storage.k8s.io/StorageClass", queue.Add, "StorageClassAdd"),
		event("storage.k8s.io/StorageClass", UpdateActions128, "StorageClassUpdate"),
		event("storage.k8s.io/CSINode", queue.Add, "CSINodeAdd"),
		event("storage.k8s.io/CSINode", UpdateActions128, "CSINodeUpdate"),
		event("storage.k8s.io/CSIDriver", queue.Add, "CSIDriverAdd"),
		event("storage.k8s.io/CSIDriver", UpdateActions128, "CSIDriverUpdate"),
		event("storage.k8s.io/CSIStorageCapacity", queue.Add, "CSIStorageCapacityAdd"),
		event("storage.k8s.io/CSIStorageCapacity", UpdateActions128, "CSIStorageCapacityUpdate"),
		event("*", queue.All, "WildCardEvent"),
		event("*", queue.All, "UnschedulableTimeout"),
	}
	named := make(map[string]queue.Event, len(list))
	for _, e := range list {
		named[e.Label] = e
	}
	return named
}

// UnregisteredEvents128 returns the registrations that Kubernetes 1.28 made for a plugin without registrations of its own:
// every action of six kinds.
func UnregisteredEvents128(plugin string) []queue.Registration {
	kinds := []string{
		"Pod", "Node", "storage.k8s.io/CSINode", "PersistentVolume", "PersistentVolumeClaim", "storage.k8s.io/StorageClass",
	}
	list := make([]queue.Registration, len(kinds))
	for i, r := range kinds {
		list[i] = queue.Registration{Plugin: plugin, Event: queue.Event{Resource: r, Action: AllActions128}}
	}
	return list
}

// Registrations128 returns what the default plugins of Kubernetes 1.28 waited for, for queue.Legacy.CycleCounter. There are no
// hints. NodeResourcesFit waits for the deletion and the update of a pod (the update with the feature InPlacePodVerticalScaling)
// and for the addition and the update of a node, as a widely read article on the queue says. The other rows follow from those of
// 1.36: what came later is left out, and a plugin that waits for new nodes, or for one kind of update, waits for every update.
func Registrations128() []queue.Registration {
	const changesOfRunning = queue.UpdatePodLabel | queue.UpdatePodScaleDown
	var out []queue.Registration
	for _, r := range queue.DefaultEvents(nil, release.V1_36) {
		later := r.Plugin == "DynamicResources" || r.Plugin == "NodeDeclaredFeatures" || r.Plugin == "DefaultPreemption"
		kind, action := r.Event.Resource, r.Event.Action&(queue.Add|queue.Delete)
		if updates := r.Event.Action &^ (queue.Add | queue.Delete); kind == "Node" || kind == "Pod" && updates&changesOfRunning != 0 || kind != "Pod" && updates != 0 {
			action |= UpdateActions128
		}
		if later || action == 0 || kind == "resource.k8s.io/DeviceClass" || kind == "storage.k8s.io/VolumeAttachment" {
			continue
		}
		out = append(out, queue.Registration{Plugin: r.Plugin, Event: queue.Event{Resource: kind, Action: action}})
	}
	return out
}

// Registrations124 returns what the default plugins of Kubernetes 1.24 waited for. NodeResourcesFit did not wait for the update of
// a pod, because requests of running pods could not change. The rest is as in Registrations128.
func Registrations124() []queue.Registration {
	out := Registrations128()
	for k := range out {
		if e := &out[k].Event; out[k].Plugin == "NodeResourcesFit" && e.Resource == "Pod" {
			e.Action = queue.Delete
		}
	}
	return out
}
