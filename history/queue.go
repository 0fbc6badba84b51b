package history

import "github.com/podberth/podberth/queue"

// Actions of Kubernetes 1.27 and 1.28 that cover several kinds of change. The actions Add to UpdateNodeCondition are those
// of 1.36. queue.Options.CycleCounter compares such actions bit by bit.
const (
	UpdateActions128 = queue.UpdateNodeAllocatable | queue.UpdateNodeLabel | queue.UpdateNodeTaint | queue.UpdateNodeCondition // 60
	AllActions128    = queue.Add | queue.Delete | UpdateActions128                                                             // 63
)

// Events128 returns the events of Kubernetes 1.28 by their names, as a new map. The actions of WildCardEvent and
// UnschedulableTimeout are queue.All, because package queue takes only that action for a wildcard.
func Events128() map[string]queue.Event {
	event := func(r queue.Resource, a queue.Action, label string) queue.Event {
		return queue.Event{Resource: r, Action: a, Label: label}
	}
	list := []queue.Event{
		event(queue.AssignedPod, queue.Add, "AssignedPodAdd"),
		event(queue.Node, queue.Add, "NodeAdd"),
		event(queue.AssignedPod, UpdateActions128, "AssignedPodUpdate"),
		event(queue.AssignedPod, queue.Delete, "AssignedPodDelete"),
		event(queue.Node, queue.UpdateNodeTaint, "NodeSpecUnschedulableChange"),
		event(queue.Node, queue.UpdateNodeAllocatable, "NodeAllocatableChange"),
		event(queue.Node, queue.UpdateNodeLabel, "NodeLabelChange"),
		event(queue.Node, queue.UpdateNodeTaint, "NodeTaintChange"),
		event(queue.Node, queue.UpdateNodeCondition, "NodeConditionChange"),
		event(queue.PersistentVolume, queue.Add, "PvAdd"),
		event(queue.PersistentVolume, UpdateActions128, "PvUpdate"),
		event(queue.PersistentVolumeClaim, queue.Add, "PvcAdd"),
		event(queue.PersistentVolumeClaim, UpdateActions128, "PvcUpdate"),
		event(queue.StorageClass, queue.Add, "StorageClassAdd"),
		event(queue.StorageClass, UpdateActions128, "StorageClassUpdate"),
		event(queue.CSINode, queue.Add, "CSINodeAdd"),
		event(queue.CSINode, UpdateActions128, "CSINodeUpdate"),
		event(queue.CSIDriver, queue.Add, "CSIDriverAdd"),
		event(queue.CSIDriver, UpdateActions128, "CSIDriverUpdate"),
		event(queue.CSIStorageCapacity, queue.Add, "CSIStorageCapacityAdd"),
		event(queue.CSIStorageCapacity, UpdateActions128, "CSIStorageCapacityUpdate"),
		event(queue.Wildcard, queue.All, "WildCardEvent"),
		event(queue.Wildcard, queue.All, "UnschedulableTimeout"),
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
	kinds := []queue.Resource{
		queue.Pod, queue.Node, queue.CSINode, queue.PersistentVolume, queue.PersistentVolumeClaim, queue.StorageClass,
	}
	list := make([]queue.Registration, len(kinds))
	for i, r := range kinds {
		list[i] = queue.Registration{Plugin: plugin, Event: queue.Event{Resource: r, Action: AllActions128}}
	}
	return list
}
