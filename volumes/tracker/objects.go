package tracker

import (
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/volumes"
)

// Of returns the storage objects of a snapshot, which always show its current state. The snapshot must not be nil.
func Of(s *cluster.Snapshot) volumes.Objects {
	return volumes.Objects{
		Claims: cluster.List[*v1.PersistentVolumeClaim](s), PersistentVolumes: cluster.List[*v1.PersistentVolume](s),
		StorageClasses: cluster.List[*storagev1.StorageClass](s), CSINodes: cluster.List[*storagev1.CSINode](s),
		CSIDrivers: cluster.List[*storagev1.CSIDriver](s), CSIStorageCapacities: cluster.List[*storagev1.CSIStorageCapacity](s),
		VolumeAttachments: cluster.List[*storagev1.VolumeAttachment](s),
	}
}

// indexed returns the objects, with an index of the volumes by class when the cluster has a change log.
func (t *Tracker) indexed(o volumes.Objects) volumes.Objects {
	if o.PersistentVolumes != nil && t.log != nil {
		o.PersistentVolumes = byClass{o.PersistentVolumes, t}
	}
	return o
}

// byClass is the volumes of a cluster with a change log, and an index by class that follows the log.
type byClass struct {
	volumes.Table[*v1.PersistentVolume]
	t *Tracker
}

// OfClass yields the volumes of one class by name.
func (b byClass) OfClass(class string) iter.Seq[*v1.PersistentVolume] {
	return b.index().(interface {
		OfClass(string) iter.Seq[*v1.PersistentVolume]
	}).OfClass(class)
}

// CandidatesFor yields the volumes of one class that a claim may take.
func (b byClass) CandidatesFor(class, namespace, claim string) iter.Seq[*v1.PersistentVolume] {
	return b.index().(interface {
		CandidatesFor(class, namespace, claim string) iter.Seq[*v1.PersistentVolume]
	}).CandidatesFor(class, namespace, claim)
}

// MayName reports whether one of these volumes may have a claimRef.
func (b byClass) MayName(class, namespace, claim string) bool {
	return b.index().(interface {
		MayName(class, namespace, claim string) bool
	}).MayName(class, namespace, claim)
}

func (b byClass) index() volumes.Table[*v1.PersistentVolume] {
	b.t.follow()
	if b.t.classes == nil {
		b.t.classes = volumes.List(slices.Collect(b.All())...)
	}
	return b.t.classes
}
