package queue

// The masks of Kubernetes 1.27 and 1.28. The first six bits are those of 1.36; Update and All covered only them. They belong
// to Options.CycleCounter.
const (
	UpdateV128 = UpdateNodeAllocatable | UpdateNodeLabel | UpdateNodeTaint | UpdateNodeCondition // 60
	AllV128    = Add | Delete | UpdateV128                                                       // 63
)

// MatchesV128 reports whether e, a registered event, covers the arriving one by the rule of 1.27 and 1.28: e is resource
// "*" with all six actions, or the resources match and the masks share a bit. Here a plugin registered for label changes
// does hear of an update of no particular kind.
func (e Event) MatchesV128(arriving Event) bool {
	if e.Resource == Wildcard && e.Action&AllV128 == AllV128 {
		return true
	}
	return e.Resource.covers(arriving.Resource) && e.Action&arriving.Action != 0
}

// NamedEventsV128 returns the events of 1.28 by their names, as a new map. WildCardEvent and UnschedulableTimeout are
// arriving wildcards for this package only when their mask is All; they are given so.
func NamedEventsV128() map[string]Event {
	list := []Event{
		{AssignedPod, Add, "AssignedPodAdd"},
		{Node, Add, "NodeAdd"},
		{AssignedPod, UpdateV128, "AssignedPodUpdate"},
		{AssignedPod, Delete, "AssignedPodDelete"},
		{Node, UpdateNodeTaint, "NodeSpecUnschedulableChange"},
		{Node, UpdateNodeAllocatable, "NodeAllocatableChange"},
		{Node, UpdateNodeLabel, "NodeLabelChange"},
		{Node, UpdateNodeTaint, "NodeTaintChange"},
		{Node, UpdateNodeCondition, "NodeConditionChange"},
		{PersistentVolume, Add, "PvAdd"},
		{PersistentVolume, UpdateV128, "PvUpdate"},
		{PersistentVolumeClaim, Add, "PvcAdd"},
		{PersistentVolumeClaim, UpdateV128, "PvcUpdate"},
		{StorageClass, Add, "StorageClassAdd"},
		{StorageClass, UpdateV128, "StorageClassUpdate"},
		{CSINode, Add, "CSINodeAdd"},
		{CSINode, UpdateV128, "CSINodeUpdate"},
		{CSIDriver, Add, "CSIDriverAdd"},
		{CSIDriver, UpdateV128, "CSIDriverUpdate"},
		{CSIStorageCapacity, Add, "CSIStorageCapacityAdd"},
		{CSIStorageCapacity, UpdateV128, "CSIStorageCapacityUpdate"},
		{Wildcard, All, "WildCardEvent"},
		{Wildcard, All, "UnschedulableTimeout"},
	}
	named := make(map[string]Event, len(list))
	for _, e := range list {
		named[e.Label] = e
	}
	return named
}

// UnregisteredEventsV128 returns the registrations that a plugin without its own had in 1.28: every action of six kinds.
func UnregisteredEventsV128(plugin string) []Registration {
	kinds := []Resource{Pod, Node, CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass}
	list := make([]Registration, len(kinds))
	for i, r := range kinds {
		list[i] = Registration{Plugin: plugin, Event: Event{Resource: r, Action: AllV128}}
	}
	return list
}
