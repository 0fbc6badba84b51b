package gen

import (
	"fmt"
	"math/rand"

	v1 "k8s.io/api/core/v1"
)

// TopologyKeys are the keys by which volumes and nodes name places: today's, the beta ones, those of CSI drivers.
var TopologyKeys = []string{
	v1.LabelTopologyZone, v1.LabelFailureDomainBetaZone, v1.LabelTopologyRegion, v1.LabelFailureDomainBetaRegion, v1.LabelHostname,
	"topology.ebs.csi.aws.com/zone", "topology.gke.io/zone", "topology.cinder.csi.openstack.org/zone", "topology.disk.csi.azure.com/zone",
	"topology.csi.vmware.com/zone",
}

// InTreePlugins are the plugins that a CSI driver has replaced, as CSINodes list them.
var InTreePlugins = []string{
	"kubernetes.io/aws-ebs", "kubernetes.io/gce-pd", "kubernetes.io/cinder", "kubernetes.io/azure-disk", "kubernetes.io/azure-file",
	"kubernetes.io/portworx-volume", "kubernetes.io/vsphere-volume",
}

// InTreeSource draws a volume of one of them.
func InTreeSource(r *rand.Rand) (s v1.PersistentVolumeSource) {
	switch r.Intn(10) {
	case 0, 1, 2:
		s.AWSElasticBlockStore = &v1.AWSElasticBlockStoreVolumeSource{VolumeID: one(r, "vol-0", "vol-1", "aws://a/vol-0", "aws:///vol-1", "aws://a/b/vol-1", "aws://a/disk", "aws://a%/vol-1", "a/vol-1")}
	case 3, 4, 5:
		s.GCEPersistentDisk = &v1.GCEPersistentDiskVolumeSource{PDName: one(r, "d", "e")}
	case 6:
		s.Cinder = &v1.CinderPersistentVolumeSource{VolumeID: one(r, "c", "d")}
	case 7:
		shared, managed, lower := v1.AzureSharedBlobDisk, v1.AzureManagedDisk, v1.AzureDataDiskKind("managed")
		s.AzureDisk = &v1.AzureDiskVolumeSource{DiskName: "d", DataDiskURI: one(r, "/d", "/e"), Kind: one(r, nil, &managed, &managed, &lower, &shared)}
	case 8:
		if r.Intn(2) == 0 {
			s.PortworxVolume = &v1.PortworxVolumeSource{VolumeID: "p"}
		} else {
			s.VsphereVolume = &v1.VsphereVirtualDiskVolumeSource{VolumePath: "[ds] d"}
		}
	case 9:
		s.AzureFile = &v1.AzureFilePersistentVolumeSource{SecretName: "s", ShareName: "s"}
		if namespace := "default"; r.Intn(4) == 0 { // without it the volume cannot be translated
			s.AzureFile.SecretNamespace = &namespace
		}
	}
	return s
}

// ZoneLabels draws the labels by which a volume names its zone and region.
func ZoneLabels(r *rand.Rand) map[string]string {
	labels := map[string]string{}
	for _, key := range TopologyKeys[:4] {
		if r.Intn(3) == 0 {
			labels[key] = one(r, "a", "b", "a__b", "b__a__b", "a__", "__", "", " a __b", "us-east1-a", "us-east1-a__us-east1-b", "us-east1-a__us-west1-b")
		}
	}
	return labels
}

// VolumeAffinity draws the node affinity of a volume, which names places by any of the keys; nil for half of them.
func VolumeAffinity(r *rand.Rand) *v1.VolumeNodeAffinity {
	if r.Intn(2) == 0 {
		return nil
	}
	required := &v1.NodeSelector{}
	for range 1 + r.Intn(2) {
		var t v1.NodeSelectorTerm
		for range 1 + r.Intn(2) {
			e := v1.NodeSelectorRequirement{Key: one(r, TopologyKeys...)}
			e.Operator = one(r, v1.NodeSelectorOpIn, v1.NodeSelectorOpIn, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn, v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist, v1.NodeSelectorOpGt)
			switch e.Operator {
			case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
				e.Values = []string{one(r, "a", "b"), one(r, "b", "us-east1-a")}
			case v1.NodeSelectorOpGt:
				e.Values = []string{"1"}
			}
			t.MatchExpressions = append(t.MatchExpressions, e)
		}
		if r.Intn(10) == 0 {
			t.MatchFields = []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{fmt.Sprint("node", r.Intn(3))}}}
		}
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, t)
	}
	return &v1.VolumeNodeAffinity{Required: required}
}

// TopologyLabels draws the labels of a node that say where it is.
func TopologyLabels(r *rand.Rand) map[string]string {
	labels := map[string]string{}
	for _, key := range TopologyKeys {
		if r.Intn(2) == 0 {
			labels[key] = one(r, "a", "b", "us-east1-a", "2", "")
		}
	}
	return labels
}

func one[T any](r *rand.Rand, from ...T) T { return from[r.Intn(len(from))] }
