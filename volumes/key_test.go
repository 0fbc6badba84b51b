package volumes

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podkey"
)

// What a user writes into one field of a source is not read as another field.
func TestKeyOfOddSources(t *testing.T) {
	disk := func(volume, fsType string) *v1.Pod {
		return &v1.Pod{Spec: v1.PodSpec{Volumes: []v1.Volume{{VolumeSource: v1.VolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: volume, FSType: fsType}}}}}}
	}
	require.Equal(t, podkey.Volumes(nil, disk("v", "ext4")), podkey.Volumes(nil, disk("v", "ext4")))
	require.NotEqual(t, podkey.Volumes(nil, disk("v", "ext4")), podkey.Volumes(nil, disk("w", "ext4")))
	require.NotEqual(t, podkey.Volumes(nil, disk("v", "x,FSType:")), podkey.Volumes(nil, disk("v,FSType:x", "")))
	none := &v1.Pod{Spec: v1.PodSpec{Volumes: []v1.Volume{{}}}}
	require.NotEqual(t, podkey.Volumes(nil, &v1.Pod{}), podkey.Volumes(nil, none), "a volume without a source is no volume of the kubelet's")
}

// An ephemeral volume has a claim of its own for each pod: by the pod's name, also where a dump has no UIDs.
func TestKeyOfEphemeralVolumes(t *testing.T) {
	with := func(name string) *v1.Pod {
		p := &v1.Pod{Spec: v1.PodSpec{Volumes: []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}}}}}
		p.Name = name
		return p
	}
	require.Equal(t, podkey.Volumes(nil, with("a")), podkey.Volumes(nil, with("a")))
	require.NotEqual(t, podkey.Volumes(nil, with("a")), podkey.Volumes(nil, with("b")))
}

// One pod's attributes are written in one order.
func TestKeyOfAttributes(t *testing.T) {
	attributes := map[string]string{}
	for _, k := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		attributes[k] = k
	}
	pod := &v1.Pod{Spec: v1.PodSpec{Volumes: []v1.Volume{{VolumeSource: v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: "d", VolumeAttributes: attributes}}}}}}
	want := podkey.Volumes(nil, pod)
	for range 50 {
		require.Equal(t, want, podkey.Volumes(nil, pod.DeepCopy()))
	}
}
