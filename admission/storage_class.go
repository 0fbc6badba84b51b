package admission

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateStorageClassUpdate returns which fields of a StorageClass changed that never change. Missing fields count as their defaults:
// reclaimPolicy Delete and volumeBindingMode Immediate. The errors name no value, as v1.37's.
func validateStorageClassUpdate(class, old *storagev1.StorageClass) (errs field.ErrorList) {
	stays := func(name string, same bool) {
		if !same {
			errs = append(errs, field.Invalid(field.NewPath(name), nil, immutable))
		}
	}
	reclaim, mode := classDefaults(class)
	oldReclaim, oldMode := classDefaults(old)
	stays("provisioner", class.Provisioner == old.Provisioner)
	stays("parameters", maps.Equal(class.Parameters, old.Parameters))
	stays("reclaimPolicy", reclaim == oldReclaim)
	stays("volumeBindingMode", mode == oldMode)
	return errs
}

func classDefaults(class *storagev1.StorageClass) (reclaim v1.PersistentVolumeReclaimPolicy, mode storagev1.VolumeBindingMode) {
	reclaim, mode = v1.PersistentVolumeReclaimDelete, storagev1.VolumeBindingImmediate
	if class.ReclaimPolicy != nil {
		reclaim = *class.ReclaimPolicy
	}
	if class.VolumeBindingMode != nil {
		mode = *class.VolumeBindingMode
	}
	return reclaim, mode
}
