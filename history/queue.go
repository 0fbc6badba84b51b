package history

import (
	"slices"

	"github.com/podberth/podberth/queue"
)

// Actions of Kubernetes 1.27 and 1.28 that cover several kinds of change. The actions Add to UpdateNodeCondition are those
// of 1.36. [queue.Legacy.CycleCounter] compares such actions bit by bit.
const (
	updateActions128 = queue.UpdateNodeAllocatable | queue.UpdateNodeLabel | queue.UpdateNodeTaint | queue.UpdateNodeCondition // 60
	allActions128    = queue.Add | queue.Delete | updateActions128                                                             // 63
)

// Events128 returns a new map from names to events of Kubernetes 1.28. The actions of WildCardEvent and UnschedulableTimeout
// are [queue.All], because package queue takes only that action for a wildcard.
func Events128() map[string]queue.Event {
	event := func(r string, a queue.Action, label string) queue.Event {
		return queue.Event{Resource: r, Action: a, Label: label}
	}
	list := []queue.Event{
		event("AssignedPod", queue.Add, "AssignedPodAdd"),
		event("Node", queue.Add, "NodeAdd"),
		event("AssignedPod", updateActions128, "AssignedPodUpdate"),
		event("AssignedPod", queue.Delete, "AssignedPodDelete"),
		event("Node", queue.UpdateNodeTaint, "NodeSpecUnschedulableChange"),
		event("Node", queue.UpdateNodeAllocatable, "NodeAllocatableChange"),
		event("Node", queue.UpdateNodeLabel, "NodeLabelChange"),
		event("Node", queue.UpdateNodeTaint, "NodeTaintChange"),
		event("Node", queue.UpdateNodeCondition, "NodeConditionChange"),
		event("PersistentVolume", queue.Add, "PvAdd"),
		event("PersistentVolume", updateActions128, "PvUpdate"),
		event("PersistentVolumeClaim", queue.Add, "PvcAdd"),
		event("PersistentVolumeClaim", updateActions128, "PvcUpdate"),
		event("storage.k8s.io/StorageClass", queue.Add, "StorageClassAdd"),
		event("storage.k8s.io/StorageClass", updateActions128, "StorageClassUpdate"),
		event("storage.k8s.io/CSINode", queue.Add, "CSINodeAdd"),
		event("storage.k8s.io/CSINode", updateActions128, "CSINodeUpdate"),
		event("storage.k8s.io/CSIDriver", queue.Add, "CSIDriverAdd"),
		event("storage.k8s.io/CSIDriver", updateActions128, "CSIDriverUpdate"),
		event("storage.k8s.io/CSIStorageCapacity", queue.Add, "CSIStorageCapacityAdd"),
		event("storage.k8s.io/CSIStorageCapacity", updateActions128, "CSIStorageCapacityUpdate"),
		event("*", queue.All, "WildCardEvent"),
		event("*", queue.All, "UnschedulableTimeout"),
	}
	named := make(map[string]queue.Event, len(list))
	for _, e := range list {
		named[e.Label] = e
	}
	return named
}

// UnregisteredEvents128 returns the registrations for a plugin without registrations of its own as the queue article prints them:
// every action of six kinds. v1.28.1 has three kinds more, CSIDriver, CSIStorageCapacity and PodSchedulingContext
// (testdata/events_v1.28.1.txt).
func UnregisteredEvents128(plugin string) []queue.Registration {
	kinds := []string{
		"Pod", "Node", "storage.k8s.io/CSINode", "PersistentVolume", "PersistentVolumeClaim", "storage.k8s.io/StorageClass",
	}
	list := make([]queue.Registration, len(kinds))
	for i, r := range kinds {
		list[i] = queue.Registration{Plugin: plugin, Event: queue.Event{Resource: r, Action: allActions128}}
	}
	return list
}

// Registrations128 returns what the default plugins of Kubernetes 1.28 waited for, for [queue.Legacy.CycleCounter]: what the plugins
// of kube-scheduler v1.28.1 register, run with its default profile (testdata/events_v1.28.1.txt). There are no hints. The list on has
// feature gates that are on. With InPlacePodVerticalScaling, which was off, NodeResourcesFit also waits for the update of a pod, as a
// widely read article on the queue says.
func Registrations128(on ...string) []queue.Registration {
	out := make([]queue.Registration, len(registered128))
	for k, r := range registered128 {
		if r.plugin == "NodeResourcesFit" && r.kind == "Pod" && slices.Contains(on, gateResize) {
			r.action |= updateActions128
		}
		out[k] = queue.Registration{Plugin: r.plugin, Event: queue.Event{Resource: r.kind, Action: r.action}}
	}
	return out
}

// gateResize is alpha in v1.27 and on by default from v1.33.
const gateResize = "InPlacePodVerticalScaling"

// registered128 are the lines of testdata/events_v1.28.1.txt, in their order.
var registered128 = []struct {
	plugin, kind string
	action       queue.Action
}{
	{"NodeUnschedulable", "Node", queue.Add | queue.UpdateNodeTaint},
	{"NodeName", "Node", queue.Add | updateActions128},
	{"TaintToleration", "Node", queue.Add | updateActions128},
	{"NodeAffinity", "Node", queue.Add | updateActions128},
	{"NodePorts", "Pod", queue.Delete},
	{"NodePorts", "Node", queue.Add | updateActions128},
	{"NodeResourcesFit", "Pod", queue.Delete},
	{"NodeResourcesFit", "Node", queue.Add | updateActions128},
	{"VolumeRestrictions", "Pod", queue.Delete},
	{"VolumeRestrictions", "Node", queue.Add},
	{"VolumeRestrictions", "PersistentVolumeClaim", queue.Add | updateActions128},
	{"EBSLimits", "Node", queue.Add},
	{"EBSLimits", "Pod", queue.Delete},
	{"GCEPDLimits", "Node", queue.Add},
	{"GCEPDLimits", "Pod", queue.Delete},
	{"NodeVolumeLimits", "storage.k8s.io/CSINode", queue.Add},
	{"NodeVolumeLimits", "Pod", queue.Delete},
	{"AzureDiskLimits", "Node", queue.Add},
	{"AzureDiskLimits", "Pod", queue.Delete},
	{"VolumeBinding", "storage.k8s.io/StorageClass", queue.Add | updateActions128},
	{"VolumeBinding", "PersistentVolumeClaim", queue.Add | updateActions128},
	{"VolumeBinding", "PersistentVolume", queue.Add | updateActions128},
	{"VolumeBinding", "Node", queue.Add | queue.UpdateNodeLabel},
	{"VolumeBinding", "storage.k8s.io/CSINode", queue.Add | updateActions128},
	{"VolumeBinding", "storage.k8s.io/CSIDriver", queue.Add | updateActions128},
	{"VolumeBinding", "storage.k8s.io/CSIStorageCapacity", queue.Add | updateActions128},
	{"VolumeZone", "storage.k8s.io/StorageClass", queue.Add},
	{"VolumeZone", "Node", queue.Add | queue.UpdateNodeLabel},
	{"VolumeZone", "PersistentVolumeClaim", queue.Add},
	{"VolumeZone", "PersistentVolume", queue.Add | updateActions128},
	{"PodTopologySpread", "Pod", allActions128},
	{"PodTopologySpread", "Node", queue.Add | queue.Delete | queue.UpdateNodeLabel},
	{"InterPodAffinity", "Pod", allActions128},
	{"InterPodAffinity", "Node", queue.Add | queue.UpdateNodeLabel},
	{"SchedulingGates", "Pod", updateActions128},
}
