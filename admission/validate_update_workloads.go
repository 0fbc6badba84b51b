package admission

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateWorkloadUpdate returns the errors about fields of a controller that stay as they are. A field that one of the two leaves to its
// default is that default.
func validateWorkloadUpdate(object, old metav1.Object) field.ErrorList {
	var a, b *metav1.LabelSelector
	switch o := object.(type) {
	case *appsv1.Deployment:
		if before, same := old.(*appsv1.Deployment); same {
			a, b = o.Spec.Selector, before.Spec.Selector
		}
	case *appsv1.ReplicaSet:
		if before, same := old.(*appsv1.ReplicaSet); same {
			a, b = o.Spec.Selector, before.Spec.Selector
		}
	case *appsv1.DaemonSet:
		if before, same := old.(*appsv1.DaemonSet); same {
			a, b = o.Spec.Selector, before.Spec.Selector
		}
	case *batchv1.Job:
		if before, same := old.(*batchv1.Job); same {
			return jobUpdate(o, before)
		}
	case *appsv1.StatefulSet:
		if before, same := old.(*appsv1.StatefulSet); same {
			return setUpdate(o, before)
		}
		return nil
	}
	if b == nil || equality.Semantic.DeepEqual(a, b) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "selector"), a, immutable)}
}

// setUpdate keeps the selector, the service, the policy and the claims of a StatefulSet.
func setUpdate(set, old *appsv1.StatefulSet) (errs field.ErrorList) {
	path, now, was := field.NewPath("spec"), fixedOf(set), fixedOf(old)
	for _, f := range [...]struct {
		name     string
		now, was any
	}{
		{"selector", now.Selector, was.Selector}, {"podManagementPolicy", now.PodManagementPolicy, was.PodManagementPolicy},
		{"serviceName", now.ServiceName, was.ServiceName}, {"volumeClaimTemplates", now.VolumeClaimTemplates, was.VolumeClaimTemplates},
	} {
		if !equality.Semantic.DeepEqual(f.now, f.was) {
			errs = append(errs, field.Invalid(path.Child(f.name), f.now, immutable))
		}
	}
	return errs
}

// fixedOf returns the fields of a StatefulSet that stay as they are, with their defaults.
func fixedOf(s *appsv1.StatefulSet) *appsv1.StatefulSetSpec {
	out := &appsv1.StatefulSetSpec{Selector: s.Spec.Selector, ServiceName: s.Spec.ServiceName, PodManagementPolicy: s.Spec.PodManagementPolicy}
	if out.PodManagementPolicy == "" {
		out.PodManagementPolicy = appsv1.OrderedReadyPodManagement
	}
	for i := range s.Spec.VolumeClaimTemplates {
		t := &s.Spec.VolumeClaimTemplates[i]
		claim := v1.PersistentVolumeClaim{ObjectMeta: t.ObjectMeta, Spec: *t.Spec.DeepCopy(), Status: t.Status}
		if claim.Status.Phase == "" {
			claim.Status.Phase = v1.ClaimPending
		}
		claim.Spec.VolumeMode = volumeMode(claim.Spec.VolumeMode)
		out.VolumeClaimTemplates = append(out.VolumeClaimTemplates, claim)
	}
	return out
}
