package admission

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Four fields of a StorageClass stay. A missing field is its default.
func TestStorageClassUpdate(t *testing.T) {
	type test struct {
		name   string
		change func(c *storagev1.StorageClass)
		want   []string
	}
	testkit.Run(t, []test{
		{"nothing", func(*storagev1.StorageClass) {}, nil},
		{"other fields", func(c *storagev1.StorageClass) { c.AllowVolumeExpansion, c.MountOptions = new(true), []string{"ro"} }, nil},
		{"no parameters", func(c *storagev1.StorageClass) { c.Parameters = map[string]string{} }, nil},
		{"defaults", func(c *storagev1.StorageClass) {
			c.ReclaimPolicy, c.VolumeBindingMode = new(v1.PersistentVolumeReclaimDelete), new(storagev1.VolumeBindingImmediate)
		}, nil},
		{"parameters", func(c *storagev1.StorageClass) { c.Parameters = map[string]string{"disk": "ssd"} }, []string{`parameters: Invalid value: null: field is immutable`}},
		{"the others", func(c *storagev1.StorageClass) {
			c.Provisioner, c.ReclaimPolicy, c.VolumeBindingMode = "b", new(v1.PersistentVolumeReclaimRetain), new(storagev1.VolumeBindingWaitForFirstConsumer)
		}, []string{`provisioner: Invalid value: null: field is immutable`, `reclaimPolicy: Invalid value: null: field is immutable`,
			`volumeBindingMode: Invalid value: null: field is immutable`}},
	}, func(t *testing.T, c test) {
		old := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "a"}
		now := old.DeepCopy()
		c.change(now)
		require.Equal(t, c.want, messages(ValidateUpdate(now, old, Options{})))
		require.Empty(t, ValidateUpdate(now, &v1.Service{}, Options{}), "an object of another kind")
		if c.want != nil {
			require.ErrorContains(t, Refusal(now, ValidateUpdate(now, old, Options{})), `StorageClass.storage.k8s.io "fast" is invalid: `)
		}
	})
}
