package admission

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// The annotations that make a StorageClass the default, and the older form of spec.storageClassName.
const (
	annotationDefaultClass     = "storageclass.kubernetes.io/is-default-class"
	annotationBetaDefaultClass = "storageclass.beta.kubernetes.io/is-default-class"
)

// DefaultStorageClass returns the StorageClass that the cluster gives to claims without a class, nil when there is none. Of several
// default classes the order is:
//
//  1. the newest,
//  2. by name.
//
// O(classes). Nil entries are ignored. (Documentation, "Storage Classes".)
func DefaultStorageClass(classes []*storagev1.StorageClass) *storagev1.StorageClass {
	var best *storagev1.StorageClass
	for _, c := range classes {
		if c == nil || c.Annotations[annotationDefaultClass] != "true" && c.Annotations[annotationBetaDefaultClass] != "true" {
			continue
		}
		if best == nil || cmp.Or(c.CreationTimestamp.Compare(best.CreationTimestamp.Time), strings.Compare(best.Name, c.Name)) > 0 {
			best = c
		}
	}
	return best
}

// WithDefaultClass returns a copy of a claim after the admission plugin [DefaultStorageClass], which is on by default: a claim that
// names no class gets the default one. The controller of volumes does the same to claims that were there before the class. A claim
// with the empty class, one that is bound, and every claim of a cluster without a default class come back unchanged. A nil claim gives
// nil.
func WithDefaultClass(claim *v1.PersistentVolumeClaim, classes []*storagev1.StorageClass) *v1.PersistentVolumeClaim {
	claim = claim.DeepCopy()
	if claim == nil || claim.Spec.StorageClassName != nil || claim.Spec.VolumeName != "" {
		return claim
	}
	if _, old := claim.Annotations[v1.BetaStorageClassAnnotation]; old {
		return claim
	}
	if c := DefaultStorageClass(classes); c != nil {
		claim.Spec.StorageClassName = &c.Name
	}
	return claim
}

// WithDefaultClasses returns the claims after [WithDefaultClass], each in its place.
func WithDefaultClasses(claims []*v1.PersistentVolumeClaim, classes []*storagev1.StorageClass) []*v1.PersistentVolumeClaim {
	out := slices.Clone(claims)
	for i, c := range out {
		out[i] = WithDefaultClass(c, classes)
	}
	return out
}
