//go:build !judge

package real

import (
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/judge/wire"
)

// Load replaces everything that the scheduler knows.
func (s *Scheduler) Load(o cluster.Objects) error { return s.LoadObjects(Wire(o)) }

// Wire returns the objects that a scheduler is loaded with.
func Wire(o cluster.Objects) wire.Objects {
	return wire.Objects{
		Nodes: o.Nodes, Pods: o.Pods, Namespaces: o.Namespaces, Services: o.Services, ReplicationControllers: o.ReplicationControllers,
		ReplicaSets: o.ReplicaSets, StatefulSets: o.StatefulSets, Claims: o.Claims, PersistentVolumes: o.PersistentVolumes,
		StorageClasses: o.StorageClasses, CSINodes: o.CSINodes, CSIDrivers: o.CSIDrivers, CSIStorageCapacities: o.CSIStorageCapacities,
		VolumeAttachments: o.VolumeAttachments, PodDisruptionBudgets: o.PodDisruptionBudgets, PriorityClasses: o.PriorityClasses,
	}
}
