package volumes

import (
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/score"
)

// Table holds the objects of one kind.
type Table[T any] interface {
	// Get returns the object with a namespace and a name, and false when there is none. namespace is "" for cluster-wide
	// kinds.
	Get(namespace, name string) (T, bool)
	// All yields the objects, always in the same order. When two volumes serve a claim equally, the claim takes the first of
	// them.
	All() iter.Seq[T]
}

// Objects are the storage objects of a cluster. A nil [Table] has no objects. Compile, On and [NewUsage] read the objects. They
// must not change while a [Pod], a State or a [Usage] made from them is in use.
type Objects struct {
	Claims            Table[*v1.PersistentVolumeClaim]
	PersistentVolumes Table[*v1.PersistentVolume]
	StorageClasses    Table[*storagev1.StorageClass]
	// CSINodes have the names of their nodes.
	CSINodes             Table[*storagev1.CSINode]
	CSIDrivers           Table[*storagev1.CSIDriver]
	CSIStorageCapacities Table[*storagev1.CSIStorageCapacity]
	VolumeAttachments    Table[*storagev1.VolumeAttachment]

	ledger *Ledger // when the objects are seen through one
}

func lookUp[T any](t Table[T], namespace, name string) (obj T, ok bool) {
	if t == nil {
		return obj, false
	}
	return t.Get(namespace, name)
}

func allOf[T any](t Table[T]) iter.Seq[T] {
	if t == nil {
		return func(func(T) bool) {}
	}
	return t.All()
}

// List returns a [Table] of the objects in the given order. Of two objects with the same namespace and name, Get returns the
// later object. A list of PersistentVolumes also has an index by storage class, so that compiling a claim that waits for its
// first consumer reads the volumes of one class only. O(objects).
func List[T metav1.Object](objects ...T) Table[T] {
	l := &sliceTable[T]{objects: objects, at: make(map[[2]string]T, len(objects)), classes: map[string][]*v1.PersistentVolume{}, candidates: map[[3]string][]*v1.PersistentVolume{}}
	for _, o := range objects {
		l.at[[2]string{o.GetNamespace(), o.GetName()}] = o
		if pv, ok := any(o).(*v1.PersistentVolume); ok {
			l.classes[volumeClass(pv)] = append(l.classes[volumeClass(pv)], pv)
			l.addCandidate(pv)
		}
	}
	return l
}

type sliceTable[T metav1.Object] struct {
	objects []T
	at      map[[2]string]T
	classes map[string][]*v1.PersistentVolume // of a list of PersistentVolumes
	// candidates of a list of PersistentVolumes, by class, and by namespace and name of the claimRef; "" without claimRef
	candidates map[[3]string][]*v1.PersistentVolume
}

func (l *sliceTable[T]) addCandidate(pv *v1.PersistentVolume) {
	k := [3]string{volumeClass(pv)}
	if ref := pv.Spec.ClaimRef; ref != nil {
		k[1], k[2] = ref.Namespace, ref.Name
	}
	l.candidates[k] = append(l.candidates[k], pv)
}

// CandidatesFor yields the volumes of a class without claimRef, and then those whose claimRef names the claim.
func (l *sliceTable[T]) CandidatesFor(class, namespace, claim string) iter.Seq[*v1.PersistentVolume] {
	free, named := l.candidates[[3]string{class}], l.candidates[[3]string{class, namespace, claim}]
	if namespace == "" && claim == "" {
		named = nil // the same list
	}
	return func(yield func(*v1.PersistentVolume) bool) {
		for _, list := range [...][]*v1.PersistentVolume{free, named} {
			for _, pv := range list {
				if !yield(pv) {
					return
				}
			}
		}
	}
}

// MayName reports whether a volume of a class has a claimRef that names the claim.
func (l *sliceTable[T]) MayName(class, namespace, claim string) bool {
	return len(l.candidates[[3]string{class, namespace, claim}]) > 0
}

// OfClass yields the PersistentVolumes of a class in the list's order.
func (l *sliceTable[T]) OfClass(class string) iter.Seq[*v1.PersistentVolume] {
	return slices.Values(l.classes[class])
}

func (l *sliceTable[T]) Get(namespace, name string) (T, bool) {
	o, ok := l.at[[2]string{namespace, name}]
	return o, ok
}

func (l *sliceTable[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, o := range l.objects {
			if !yield(o) {
				return
			}
		}
	}
}

// Options choose behaviour beyond v1.37's default, which is the zero value.
type Options struct {
	// CompareNamespaces makes a what-if about a ReadWriteOncePod claim look at the namespaces of the pods it adds and
	// removes. v1.37 compares the claims' names alone, so that evicting a pod of another namespace seems to help.
	CompareNamespaces bool
	// ReserveCapacity subtracts claims that are being provisioned from the capacity that CSIStorageCapacity objects publish:
	// the claims of a Ledger's pods and the pod's own earlier claims. v1.37 compares every claim alone with the published
	// capacity.
	ReserveCapacity bool
	// Release is the release whose filters count (rules L2.4, L3.1 and L3.2).
	Release release.Version
	// WithoutStorageScore and WithoutLimitScaling turn off the gates StorageCapacityScoring (rule L2.4) and VolumeLimitScaling (L3.1) of
	// v1.37, which are on by default.
	WithoutStorageScore, WithoutLimitScaling bool
	// Shape is the score of the share of a class's storage that is in use, as VolumeBindingArgs.shape of v1.37 (rule L11.2). It must be
	// valid (score.ValidateShape). Empty: 10 at 0 percent, 0 at 100.
	Shape []score.Point
}
