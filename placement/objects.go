package placement

import (
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/spread"
	"github.com/podberth/podberth/volumes"
	volumetracker "github.com/podberth/podberth/volumes/tracker"
)

// This file finds the objects beside nodes and pods that a cluster knows. A Snapshot and the Cluster of Rows need an adapter;
// any other cluster has the methods itself (see Cluster).

// ownersOf returns the look-ups of services and controllers of a cluster; nil when it has none.
func ownersOf(c any) spread.Owners {
	switch c := c.(type) {
	case *cluster.Snapshot:
		return cluster.Owners{Snapshot: c}
	case *counted:
		return ownersOf(c.View)
	case spread.Owners:
		return c
	}
	return nil
}

// volumeObjectsOf returns the storage objects of a cluster.
func volumeObjectsOf(c any) volumes.Objects {
	switch c := c.(type) {
	case *cluster.Snapshot:
		return volumetracker.Of(c)
	case *counted:
		return volumeObjectsOf(c.View)
	case interface{ VolumeObjects() volumes.Objects }:
		return c.VolumeObjects()
	}
	return volumes.Objects{}
}

// newVolumes returns a tracker of the volumes of a cluster.
func newVolumes(c Cluster) *volumetracker.Tracker { return volumetracker.New(c, volumeObjectsOf(c)) }

// volumesOr returns t, or a new tracker of the cluster when t is nil.
func volumesOr(t *volumetracker.Tracker, c Cluster) *volumetracker.Tracker {
	if t == nil {
		return newVolumes(c)
	}
	return t
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
