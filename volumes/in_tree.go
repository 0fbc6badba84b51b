package volumes

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// inTree is a volume plugin that a CSI driver has replaced. Rule: documentation, "Volumes", the notes on CSI migration of
// each type.
type inTree struct {
	plugin, driver string
	zone           string // the label in which the driver's nodes have their zone, "" when volumes are not confined to one
}

var (
	awsEBS    = inTree{"kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"}
	googlePD  = inTree{"kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone"}
	cinder    = inTree{"kubernetes.io/cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone"}
	azureDisk = inTree{"kubernetes.io/azure-disk", "disk.csi.azure.com", ""}
	portworx  = inTree{"kubernetes.io/portworx-volume", "pxd.portworx.com", ""}

	inTrees = [...]*inTree{&awsEBS, &googlePD, &cinder, &azureDisk, &portworx}
)

// In-tree provisioners whose volumes NodeVolumeLimits does not count.
const (
	azureFile = "kubernetes.io/azure-file"
	vSphere   = "kubernetes.io/vsphere-volume"
)

// csiDriver returns the CSI driver that serves an in-tree provisioner or volume plugin today. It returns false for any other
// name, such as that of a CSI driver.
func csiDriver(plugin string) (driver string, ok bool) {
	for _, k := range inTrees {
		if k.plugin == plugin {
			return k.driver, true
		}
	}
	return "", false
}

// disk is a volume as its CSI driver knows it.
type disk struct{ driver, handle string }

// inlineDisk returns the CSI form of a volume written into a pod, false for volumes that are not of an in-tree kind with a
// driver. An error says why the driver cannot know the volume.
func inlineDisk(v *v1.Volume) (d disk, ok bool, err error) {
	if v.Cinder != nil {
		return disk{cinder.driver, v.Cinder.VolumeID}, true, nil
	}
	k, handle, err := inTreeSource(v.AWSElasticBlockStore, v.GCEPersistentDisk, v.AzureDisk, v.PortworxVolume, nil)
	if k == nil {
		return disk{}, false, nil
	}
	if err != nil {
		err = fmt.Errorf("converting volume(%s) from inline to csi: %w", v.Name, err)
	}
	return disk{k.driver, handle}, true, err
}

// volumeDisk returns the CSI form of a PersistentVolume and reports whether the form is a translation of an in-tree kind. ok
// is false for other volumes and for volumes that the driver cannot know.
func volumeDisk(pv *v1.PersistentVolume) (d disk, translated, ok bool) {
	if s := pv.Spec.CSI; s != nil {
		return disk{s.Driver, s.VolumeHandle}, false, s.VolumeHandle != ""
	}
	k, handle, err := inTreeVolume(pv)
	if err != nil || handle == "" {
		return disk{}, false, false
	}
	return disk{k.driver, handle}, true, true
}

// inTreeVolume returns the plugin of a PersistentVolume of an in-tree kind, nil for other volumes. It also returns the
// handle by which the CSI driver knows the volume, or an error that says why there is no handle.
func inTreeVolume(pv *v1.PersistentVolume) (k *inTree, handle string, err error) {
	s := &pv.Spec
	if s.Cinder != nil {
		return &cinder, s.Cinder.VolumeID, nil
	}
	return inTreeSource(s.AWSElasticBlockStore, s.GCEPersistentDisk, s.AzureDisk, s.PortworxVolume, pv.Labels)
}

func inTreeSource(ebs *v1.AWSElasticBlockStoreVolumeSource, gce *v1.GCEPersistentDiskVolumeSource, azure *v1.AzureDiskVolumeSource,
	px *v1.PortworxVolumeSource, labels map[string]string) (k *inTree, handle string, err error) {
	switch {
	case ebs != nil:
		if handle, err = ebsHandle(ebs.VolumeID); err != nil {
			err = fmt.Errorf("failed to translate Kubernetes ID to EBS Volume ID %w", err)
		}
		return &awsEBS, handle, err
	case gce != nil:
		handle, err = gceHandle(gce.PDName, labels)
		return &googlePD, handle, err
	case azure != nil:
		if azure.Kind != nil && !strings.EqualFold(string(*azure.Kind), string(v1.AzureManagedDisk)) {
			err = fmt.Errorf("kind(%s) is not supported in csi migration", *azure.Kind)
		}
		return &azureDisk, azure.DataDiskURI, err
	case px != nil:
		return &portworx, px.VolumeID, nil
	}
	return nil, "", nil
}

// ebsHandle takes the volume's id from a name such as aws://us-east-1a/vol-1; other names are ids.
func ebsHandle(name string) (string, error) {
	if !strings.HasPrefix(name, "aws://") {
		return name, nil
	}
	u, err := url.Parse(name)
	if err != nil {
		//lint:ignore ST1005 the text is v1.37's
		return "", fmt.Errorf("Invalid disk name (%s): %w", name, err)
	}
	id := strings.Trim(u.Path, "/")
	if !strings.HasPrefix(id, "vol-") || strings.Contains(id, "/") {
		//lint:ignore ST1005 the text is v1.37's
		return "", fmt.Errorf("Invalid format for AWS volume (%s)", name)
	}
	return id, nil
}

// gceHandle returns the name that the driver gives a disk. The beta zone label counts before today's label. A list of zones
// means a disk of the region of these zones.
func gceHandle(name string, labels map[string]string) (string, error) {
	zone := labels[v1.LabelFailureDomainBetaZone]
	if zone == "" {
		zone = labels[v1.LabelTopologyZone]
	}
	place := "zones/UNSPECIFIED"
	switch {
	case strings.Contains(zone, "__"):
		region, err := gceRegion(strings.Split(zone, "__"))
		if err != nil {
			return "", fmt.Errorf("failed to get region from zones: %w", err)
		}
		place = "regions/" + region
	case zone != "":
		place = "zones/" + zone
	}
	return "projects/UNSPECIFIED/" + place + "/disks/" + name, nil
}

// gceRegion returns the region of zones such as us-central1-a.
func gceRegion(zones []string) (string, error) {
	var regions []string
	for _, zone := range zones {
		parts := strings.Split(zone, "-")
		if len(parts) != 3 {
			return "", fmt.Errorf("zone in unexpected format, expected: {locale}-{region}-{zone}, got: %s", zone)
		}
		if r := parts[0] + "-" + parts[1]; !slices.Contains(regions, r) {
			regions = append(regions, r)
		}
	}
	if len(regions) != 1 {
		slices.Sort(regions)
		return "", fmt.Errorf("multiple or no regions gotten from zones, got: map[%s:{}]", strings.Join(regions, ":{} "))
	}
	return regions[0], nil
}
