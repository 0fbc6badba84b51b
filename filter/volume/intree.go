package volume

import (
	"strings"

	v1 "k8s.io/api/core/v1"
)

// drivers maps the in-tree volume plugins that were replaced by CSI drivers to those. Rule: documentation, "Volumes", the
// notes on CSI migration of each type.
var drivers = map[string]string{
	"kubernetes.io/aws-ebs":         "ebs.csi.aws.com",
	"kubernetes.io/gce-pd":          "pd.csi.storage.gke.io",
	"kubernetes.io/azure-disk":      "disk.csi.azure.com",
	"kubernetes.io/cinder":          "cinder.csi.openstack.org",
	"kubernetes.io/portworx-volume": "pxd.portworx.com",
}

// CSIDriver returns the CSI driver that serves an in-tree provisioner or volume plugin today, and false for a name that is
// none, such as that of a CSI driver.
func CSIDriver(inTree string) (driver string, ok bool) {
	driver, ok = drivers[inTree]
	return driver, ok
}

// disk is a volume as its CSI driver knows it.
type disk struct{ driver, handle string }

// inlineDisk returns the CSI form of a volume of an in-tree kind written into a pod; false for other volumes.
func inlineDisk(v *v1.Volume) (disk, bool) {
	switch {
	case v.AWSElasticBlockStore != nil:
		return ebs(v.AWSElasticBlockStore.VolumeID), true
	case v.GCEPersistentDisk != nil:
		return gce(v.GCEPersistentDisk.PDName, ""), true
	case v.AzureDisk != nil:
		return disk{drivers["kubernetes.io/azure-disk"], v.AzureDisk.DataDiskURI}, true
	case v.Cinder != nil:
		return disk{drivers["kubernetes.io/cinder"], v.Cinder.VolumeID}, true
	case v.PortworxVolume != nil:
		return disk{drivers["kubernetes.io/portworx-volume"], v.PortworxVolume.VolumeID}, true
	}
	return disk{}, false
}

// volumeDisk returns the CSI form of a PersistentVolume, and whether it is one only by translation of an in-tree kind;
// false for other volumes.
func volumeDisk(pv *v1.PersistentVolume) (d disk, translated, ok bool) {
	s := &pv.Spec
	switch {
	case s.CSI != nil:
		return disk{s.CSI.Driver, s.CSI.VolumeHandle}, false, true
	case s.AWSElasticBlockStore != nil:
		return ebs(s.AWSElasticBlockStore.VolumeID), true, true
	case s.GCEPersistentDisk != nil:
		zone := pv.Labels[v1.LabelTopologyZone]
		if zone == "" {
			zone = pv.Labels[v1.LabelFailureDomainBetaZone]
		}
		return gce(s.GCEPersistentDisk.PDName, zone), true, true
	case s.AzureDisk != nil:
		return disk{drivers["kubernetes.io/azure-disk"], s.AzureDisk.DataDiskURI}, true, true
	case s.Cinder != nil:
		return disk{drivers["kubernetes.io/cinder"], s.Cinder.VolumeID}, true, true
	case s.PortworxVolume != nil:
		return disk{drivers["kubernetes.io/portworx-volume"], s.PortworxVolume.VolumeID}, true, true
	}
	return disk{}, false, false
}

// ebs takes the volume's id from a name such as aws://us-east-1a/vol-1.
func ebs(id string) disk {
	return disk{drivers["kubernetes.io/aws-ebs"], id[strings.LastIndexByte(id, '/')+1:]}
}

// gce names a disk as the driver does; zone "" and a list of zones are unspecified.
func gce(name, zone string) disk {
	if zone == "" || strings.Contains(zone, "__") {
		zone = "UNSPECIFIED"
	}
	return disk{drivers["kubernetes.io/gce-pd"], "projects/UNSPECIFIED/zones/" + zone + "/disks/" + name}
}
