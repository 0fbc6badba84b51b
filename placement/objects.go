package placement

import (
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/filter/volume"
	"github.com/podberth/podberth/internal/owners"
	"github.com/podberth/podberth/spread"
)

// This file finds the objects beside nodes and pods that a cluster knows. A Snapshot and the Cluster of Rows need an adapter;
// any other cluster has the methods itself (see Cluster).

// ownersOf returns the look-ups of services and controllers of a cluster; nil when it has none.
func ownersOf(c any) spread.Owners {
	switch c := c.(type) {
	case *cluster.Snapshot:
		return owners.Of{Snapshot: c}
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

// newDevices returns a tracker of the devices of a cluster.
func newDevices(c Cluster) *tracker.Tracker { return tracker.New(c, deviceObjectsOf(c)) }

// deviceObjectsOf returns the objects of dynamic resource allocation of a cluster.
func deviceObjectsOf(c any) tracker.Objects {
	switch c := c.(type) {
	case *cluster.Snapshot:
		return tracker.Of(c)
	case *counted:
		return deviceObjectsOf(c.View)
	case interface{ DeviceObjects() tracker.Objects }:
		return c.DeviceObjects()
	}
	return tracker.Objects{}
}
