package history

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/queue"
)

func TestQueueEvents(t *testing.T) {
	named := Events128()
	require.Len(t, named, 23)
	require.EqualValues(t, 0b111100, updateActions128)
	require.EqualValues(t, 0b111111, allActions128)
	now := map[string]string{ // what 1.36 calls them
		"NodeSpecUnschedulableChange": "NodeUpdateNodeTaint", "NodeTaintChange": "NodeUpdateNodeTaint", "NodeAllocatableChange": "NodeUpdateNodeAllocatable",
		"NodeLabelChange": "NodeUpdateNodeLabel", "NodeConditionChange": "NodeUpdateNodeCondition", "PvAdd": "PersistentVolumeAdd",
		"PvcAdd": "PersistentVolumeClaimAdd", "CSINodeAdd": "storage.k8s.io/CSINodeAdd", "AssignedPodAdd": "AssignedPodAdd",
		"AssignedPodDelete": "AssignedPodDelete", "NodeAdd": "NodeAdd", "StorageClassAdd": "storage.k8s.io/StorageClassAdd",
		"CSIDriverAdd": "storage.k8s.io/CSIDriverAdd", "CSIStorageCapacityAdd": "storage.k8s.io/CSIStorageCapacityAdd",
	}
	for label, e := range named {
		require.Equal(t, label, e.String())
		if want, ok := now[label]; ok {
			e.Label = ""
			require.Equal(t, want, e.String())
		}
	}
	kinds := map[string]string{"AssignedPod": "AssignedPod", "Node": "Node", "Pv": "PersistentVolume", "Pvc": "PersistentVolumeClaim", "StorageClass": "storage.k8s.io/StorageClass",
		"CSINode": "storage.k8s.io/CSINode", "CSIDriver": "storage.k8s.io/CSIDriver", "CSIStorageCapacity": "storage.k8s.io/CSIStorageCapacity"}
	actions := map[string]queue.Action{"Add": queue.Add, "Update": updateActions128, "Delete": queue.Delete, "SpecUnschedulableChange": queue.UpdateNodeTaint, "TaintChange": queue.UpdateNodeTaint,
		"AllocatableChange": queue.UpdateNodeAllocatable, "LabelChange": queue.UpdateNodeLabel, "ConditionChange": queue.UpdateNodeCondition}
	found := 0
	for kind, resource := range kinds { // each name is a kind and a verb
		for verb, action := range actions {
			if e, ok := named[kind+verb]; ok {
				found++
				require.Equal(t, queue.Event{Resource: resource, Action: action, Label: kind + verb}, e)
			}
		}
	}
	require.Equal(t, 21, found, "all events except the two wildcards")
	for _, name := range []string{"UnschedulableTimeout", "WildCardEvent"} {
		require.Equal(t, queue.Event{Resource: "*", Action: queue.All, Label: name}, named[name])
	}
	var six []string
	for _, r := range UnregisteredEvents128("x") {
		require.Equal(t, []any{"x", allActions128}, []any{r.Plugin, r.Event.Action})
		six = append(six, r.Event.Resource)
	}
	require.Equal(t, []string{"Pod", "Node", "storage.k8s.io/CSINode", "PersistentVolume", "PersistentVolumeClaim", "storage.k8s.io/StorageClass"}, six)
}
