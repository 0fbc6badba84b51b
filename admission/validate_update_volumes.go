package admission

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/podinfo"
)

// immutable is what the server says about a field that no update may change.
const immutable = "field is immutable"

// validateVolumeUpdate returns the errors about fields of a volume, a claim or a claim of devices that stay as they are.
func validateVolumeUpdate(object, old metav1.Object) field.ErrorList {
	switch o := object.(type) {
	case *v1.PersistentVolumeClaim:
		if before, same := old.(*v1.PersistentVolumeClaim); same {
			return claimUpdate(o, before)
		}
	case *v1.PersistentVolume:
		if before, same := old.(*v1.PersistentVolume); same {
			return volumeUpdate(o, before)
		}
	case *resourcev1.ResourceClaim:
		if before, same := old.(*resourcev1.ResourceClaim); same && !equality.Semantic.DeepEqual(requested(&o.Spec), requested(&before.Spec)) {
			return field.ErrorList{field.Invalid(field.NewPath("spec"), o.Spec, immutable)}
		}
	case *resourcev1.ResourceClaimTemplate:
		if before, same := old.(*resourcev1.ResourceClaimTemplate); same &&
			(!equality.Semantic.DeepEqual(o.Spec.ObjectMeta, before.Spec.ObjectMeta) || !equality.Semantic.DeepEqual(requested(&o.Spec.Spec), requested(&before.Spec.Spec))) {
			return field.ErrorList{field.Invalid(field.NewPath("spec"), o.Spec, immutable)}
		}
	}
	return nil
}

// requested returns the specification of a claim with the defaults of its requests.
func requested(s *resourcev1.ResourceClaimSpec) *resourcev1.ResourceClaimSpec {
	out := s.DeepCopy()
	with := func(mode *resourcev1.DeviceAllocationMode, count *int64) {
		if *mode == "" {
			*mode = resourcev1.DeviceAllocationModeExactCount
		}
		if *mode == resourcev1.DeviceAllocationModeExactCount && *count == 0 {
			*count = 1
		}
	}
	for i := range out.Devices.Requests {
		r := &out.Devices.Requests[i]
		if r.Exactly != nil {
			with(&r.Exactly.AllocationMode, &r.Exactly.Count)
		}
		for k := range r.FirstAvailable {
			with(&r.FirstAvailable[k].AllocationMode, &r.FirstAvailable[k].Count)
		}
	}
	return out
}

// claimUpdate lets a claim get its volume once, and its class once when it has none. The request and the attributes class of a bound claim
// may change; a smaller request stays above what the volume has.
func claimUpdate(claim, old *v1.PersistentVolumeClaim) (errs field.ErrorList) {
	now, was := claim.Spec.DeepCopy(), old.Spec.DeepCopy()
	if was.VolumeName == "" {
		was.VolumeName = now.VolumeName
	}
	if was.StorageClassName == nil && old.Annotations[v1.BetaStorageClassAnnotation] == "" {
		was.StorageClassName = now.StorageClassName
	}
	for _, s := range []*v1.PersistentVolumeClaimSpec{now, was} {
		s.VolumeMode = volumeMode(s.VolumeMode)
	}
	path, bound := field.NewPath("spec"), old.Status.Phase == v1.ClaimBound
	if bound {
		was.Resources.Requests, was.VolumeAttributesClassName = now.Resources.Requests, now.VolumeAttributesClassName
	}
	if !equality.Semantic.DeepEqual(now, was) {
		errs = append(errs, field.Forbidden(path, "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"))
	}
	if *now.VolumeMode != *was.VolumeMode {
		errs = append(errs, field.Invalid(field.NewPath("volumeMode"), claim.Spec.VolumeMode, immutable))
	}
	size, before := claim.Spec.Resources.Requests[v1.ResourceStorage], old.Spec.Resources.Requests[v1.ResourceStorage]
	if least := old.Status.Capacity[v1.ResourceStorage]; bound && size.Cmp(before) < 0 && size.Cmp(least) <= 0 {
		errs = append(errs, field.Forbidden(path.Child("resources", "requests", "storage"), "field can not be less than status.capacity"))
	}
	return errs
}

// volumeUpdate keeps the source, the mode and a node affinity that is set. The labels of the node affinity may get their new names.
func volumeUpdate(volume, old *v1.PersistentVolume) (errs field.ErrorList) {
	path := field.NewPath("spec")
	source := old.Spec.PersistentVolumeSource.DeepCopy()
	if now := volume.Spec.CSI; now != nil && source.CSI != nil && source.CSI.ControllerExpandSecretRef == nil { // it may come once
		source.CSI.ControllerExpandSecretRef = now.ControllerExpandSecretRef
	}
	if !equality.Semantic.DeepEqual(&volume.Spec.PersistentVolumeSource, source) {
		errs = append(errs, field.Forbidden(path.Child("persistentvolumesource"), "spec.persistentvolumesource is immutable after creation"))
	}
	if *volumeMode(volume.Spec.VolumeMode) != *volumeMode(old.Spec.VolumeMode) {
		errs = append(errs, field.Invalid(field.NewPath("volumeMode"), volume.Spec.VolumeMode, immutable))
	}
	if old.Spec.NodeAffinity != nil && !reflect.DeepEqual(volume.Spec.NodeAffinity, renewed(old.Spec.NodeAffinity, volume.Spec.NodeAffinity)) {
		errs = append(errs, field.Invalid(field.NewPath("nodeAffinity"), volume.Spec.NodeAffinity, immutable+", except for updating from beta label to GA"))
	}
	return errs
}

// volumeMode returns a mode with its default.
func volumeMode(m *v1.PersistentVolumeMode) *v1.PersistentVolumeMode {
	if m == nil {
		return new(v1.PersistentVolumeFilesystem)
	}
	return m
}

// renewed returns a node affinity with the new names of labels where another one has them; nil for nil.
func renewed(a, now *v1.VolumeNodeAffinity) *v1.VolumeNodeAffinity {
	a = a.DeepCopy()
	if a == nil || a.Required == nil || now == nil || now.Required == nil {
		return a
	}
	for i := range a.Required.NodeSelectorTerms {
		list := a.Required.NodeSelectorTerms[i].MatchExpressions
		for k := range list {
			key := podinfo.GeneralLabels[list[k].Key]
			if key == "" || i >= len(now.Required.NodeSelectorTerms) {
				continue
			}
			if others := now.Required.NodeSelectorTerms[i].MatchExpressions; k < len(others) && others[k].Key == key {
				list[k].Key = key
			}
		}
	}
	return a
}
