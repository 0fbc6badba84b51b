package placement

import (
	"iter"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter/volume"
	"github.com/podberth/podberth/spread"
)

// This file finds the objects beside nodes and pods that a cluster knows. Two kinds of cluster need an adapter, Snapshot and
// the Cluster of Rows; any other cluster has the methods itself (see Cluster).

// ownersOf returns the look-ups of services and controllers of a cluster, nil without any.
func ownersOf(c any) spread.Owners {
	switch c := c.(type) {
	case *cluster.Snapshot:
		return owners{c}
	case *counted:
		return ownersOf(c.View)
	case spread.Owners:
		return c
	}
	return nil
}

// volumeObjectsOf returns the storage objects of a cluster.
func volumeObjectsOf(c any) volume.Objects {
	switch c := c.(type) {
	case *cluster.Snapshot:
		return volume.Objects{
			Claims: cluster.List[*v1.PersistentVolumeClaim](c), PersistentVolumes: cluster.List[*v1.PersistentVolume](c),
			StorageClasses: cluster.List[*storagev1.StorageClass](c), CSINodes: cluster.List[*storagev1.CSINode](c),
			CSIDrivers: cluster.List[*storagev1.CSIDriver](c), CSIStorageCapacities: cluster.List[*storagev1.CSIStorageCapacity](c),
			VolumeAttachments: cluster.List[*storagev1.VolumeAttachment](c),
		}
	case *counted:
		return volumeObjectsOf(c.View)
	case interface{ VolumeObjects() volume.Objects }:
		return c.VolumeObjects()
	}
	return volume.Objects{}
}

// owners are the look-ups of a snapshot in the form in which topology spread asks.
type owners struct{ s *cluster.Snapshot }

func (o owners) Services(namespace string) iter.Seq[*v1.Service] {
	return cluster.List[*v1.Service](o.s).In(namespace)
}

func (o owners) ReplicationController(namespace, name string) *v1.ReplicationController {
	x, _ := cluster.List[*v1.ReplicationController](o.s).Get(namespace, name)
	return x
}

func (o owners) ReplicaSet(namespace, name string) *appsv1.ReplicaSet {
	x, _ := cluster.List[*appsv1.ReplicaSet](o.s).Get(namespace, name)
	return x
}

func (o owners) StatefulSet(namespace, name string) *appsv1.StatefulSet {
	x, _ := cluster.List[*appsv1.StatefulSet](o.s).Get(namespace, name)
	return x
}
