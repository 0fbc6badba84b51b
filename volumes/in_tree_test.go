package volumes

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

func TestCSIDriver(t *testing.T) {
	for inTree, want := range map[string]string{"kubernetes.io/aws-ebs": "ebs.csi.aws.com", "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
		"kubernetes.io/azure-disk": "disk.csi.azure.com", "kubernetes.io/cinder": "cinder.csi.openstack.org", "kubernetes.io/portworx-volume": "pxd.portworx.com"} {
		got, ok := csiDriver(inTree)
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	_, ok := csiDriver("ebs.csi.aws.com")
	require.False(t, ok)
	for _, s := range []v1.VolumeSource{
		{AzureDisk: &v1.AzureDiskVolumeSource{DataDiskURI: "uri"}}, {Cinder: &v1.CinderVolumeSource{VolumeID: "id"}},
		{PortworxVolume: &v1.PortworxVolumeSource{VolumeID: "id"}}, gcePD("d", false), ebsVolume("v", false),
	} {
		inPod, ok, err := inlineDisk(&v1.Volume{VolumeSource: s})
		require.NoError(t, err)
		require.True(t, ok)
		pv := &v1.PersistentVolume{}
		pv.Spec.AWSElasticBlockStore, pv.Spec.GCEPersistentDisk, pv.Spec.AzureDisk, pv.Spec.PortworxVolume = s.AWSElasticBlockStore, s.GCEPersistentDisk, s.AzureDisk, s.PortworxVolume
		if s.Cinder != nil {
			pv.Spec.Cinder = &v1.CinderPersistentVolumeSource{VolumeID: s.Cinder.VolumeID}
		}
		inObject, translated, ok := volumeDisk(pv)
		require.True(t, ok && translated)
		require.Equal(t, inPod, inObject)
	}
}

// The names by which drivers know volumes of in-tree kinds.
func TestHandles(t *testing.T) {
	ebs := func(id string) *v1.PersistentVolume {
		return volume("pv", "", "1Gi", source(v1.PersistentVolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: id}}))
	}
	gce := func(labels ...string) *v1.PersistentVolume {
		return volume("pv", "", "1Gi", source(v1.PersistentVolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: "d"}}), labelled(labels...))
	}
	azure := func(kind *v1.AzureDataDiskKind) *v1.PersistentVolume {
		return volume("pv", "", "1Gi", source(v1.PersistentVolumeSource{AzureDisk: &v1.AzureDiskVolumeSource{DataDiskURI: "uri", Kind: kind}}))
	}
	const badID, badZone = "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ", "failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: "
	type test struct {
		name, why string
		volume    *v1.PersistentVolume
		want, err string
	}
	testkit.Run(t, []test{
		{"EBS id", "is the handle", ebs("vol-1"), "vol-1", ""},
		{"any EBS id", "is not looked into", ebs("a/b"), "a/b", ""},
		{"EBS id with zone", "the zone is dropped", ebs("aws://us-east-1a/vol-1"), "vol-1", ""},
		{"EBS id with empty zone", "as well", ebs("aws:///vol-1"), "vol-1", ""},
		{"EBS id with two zones", "is no name", ebs("aws://a/b/vol-1"), "", badID + "(aws://a/b/vol-1)"},
		{"EBS id of something else", "volumes begin with vol-", ebs("aws://a/disk"), "", badID + "(aws://a/disk)"},
		{"EBS id that is no URL", "tells why", ebs("aws://a%/vol-1"), "", `failed to translate Kubernetes ID to EBS Volume ID Invalid disk name (aws://a%/vol-1): parse "aws://a%/vol-1": invalid URL escape "%"`},
		{"Azure disk", "is known by its URI", azure(nil), "uri", ""},
		{"managed Azure disk", "as well", azure(new(v1.AzureManagedDisk)), "uri", ""},
		{"managed Azure disk in small letters", "as well", azure(new(v1.AzureDataDiskKind("managed"))), "uri", ""},
		{"Azure blob disk", "the driver has none", azure(new(v1.AzureSharedBlobDisk)), "uri", "kind(Shared) is not supported in csi migration"},
		{"GCE disk", "of no zone", gce(), "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d", ""},
		{"GCE disk of a zone", "by its label", gce(zoneLabel, "z"), "projects/UNSPECIFIED/zones/z/disks/d", ""},
		{"GCE disk of two zone labels", "the beta one counts", gce(zoneLabel, "z", betaZone, "y"), "projects/UNSPECIFIED/zones/y/disks/d", ""},
		{"GCE disk of two zones", "belongs to their region", gce(zoneLabel, "us-east1-a__us-east1-b"), "projects/UNSPECIFIED/regions/us-east1/disks/d", ""},
		{"GCE disk of odd zones", "has no region", gce(zoneLabel, "a__b"), "", badZone + "a"},
		{"GCE disk of two regions", "has none either", gce(zoneLabel, "us-west1-a__us-east1-b"), "", "failed to get region from zones: multiple or no regions gotten from zones, got: map[us-east1:{} us-west1:{}]"},
	}, func(t *testing.T, c test) {
		_, got, err := inTreeVolume(c.volume)
		require.Equal(t, c.want, got)
		if c.err == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.err)
		}
		_, translated, ok := volumeDisk(c.volume)
		require.Equal(t, c.err == "", ok && translated, "what the driver cannot know is not counted")
	})
	_, _, ok := volumeDisk(volume("pv", "", "1Gi", source(v1.PersistentVolumeSource{AzureDisk: &v1.AzureDiskVolumeSource{}})))
	require.False(t, ok, "no handle, no volume")
}
