package scheduler

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Changes of these objects wake pods under these names; priority classes and budgets wake none.
func TestResources(t *testing.T) {
	for _, c := range []struct {
		object metav1.Object
		want   string
	}{
		{&v1.PersistentVolume{}, "PersistentVolume"},
		{&v1.PersistentVolumeClaim{}, "PersistentVolumeClaim"},
		{&storagev1.CSINode{}, "storage.k8s.io/CSINode"},
		{&storagev1.CSIDriver{}, "storage.k8s.io/CSIDriver"},
		{&storagev1.CSIStorageCapacity{}, "storage.k8s.io/CSIStorageCapacity"},
		{&storagev1.StorageClass{}, "storage.k8s.io/StorageClass"},
		{&storagev1.VolumeAttachment{}, "storage.k8s.io/VolumeAttachment"},
		{&resourcev1.ResourceClaim{}, "resource.k8s.io/ResourceClaim"},
		{&resourcev1.ResourceSlice{}, "resource.k8s.io/ResourceSlice"},
		{&resourcev1.DeviceClass{}, "resource.k8s.io/DeviceClass"},
		{&schedulingv1.PriorityClass{}, ""},
		{&policyv1.PodDisruptionBudget{}, ""},
	} {
		got, wakes := resource(c.object)
		require.Equal(t, c.want, got, "%T", c.object)
		require.Equal(t, c.want != "", wakes, "%T", c.object)
	}
}
