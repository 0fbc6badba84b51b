package volume

import (
	"iter"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Cluster is what the predicates read of nodes and running pods. A node's handle is its slot.
type Cluster interface {
	// Len returns the number of slots, free ones included.
	Len() int
	// Node returns the node of slot i, nil for a free one.
	Node(i int) *v1.Node
	// Pods yields the pods assigned to slot i, terminating ones included, Succeeded and Failed ones not; none for a free
	// slot.
	Pods(i int) iter.Seq[*v1.Pod]
}

// Table looks up the objects of one kind.
type Table[T any] interface {
	// Get returns the object of that namespace ("" for cluster-wide kinds) and name, and false when there is none.
	Get(namespace, name string) (T, bool)
	// All yields the objects, always in the same order: where two volumes serve a claim equally, the first is taken.
	All() iter.Seq[T]
}

// Objects are the storage objects of a cluster. A nil Table has no objects. They are read when a pod is compiled, a State
// counted or a Usage made, and must not change while those are in use.
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

func get[T any](t Table[T], namespace, name string) (obj T, ok bool) {
	if t == nil {
		return obj, false
	}
	return t.Get(namespace, name)
}

func all[T any](t Table[T]) iter.Seq[T] {
	if t == nil {
		return func(func(T) bool) {}
	}
	return t.All()
}

// List makes a Table of a few objects in the order given; of two with one namespace and name the later one is found.
func List[T metav1.Object](objects ...T) Table[T] {
	l := &list[T]{objects: objects, at: make(map[[2]string]T, len(objects))}
	for _, o := range objects {
		l.at[[2]string{o.GetNamespace(), o.GetName()}] = o
	}
	return l
}

type list[T metav1.Object] struct {
	objects []T
	at      map[[2]string]T
}

func (l *list[T]) Get(namespace, name string) (T, bool) {
	o, ok := l.at[[2]string{namespace, name}]
	return o, ok
}

func (l *list[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, o := range l.objects {
			if !yield(o) {
				return
			}
		}
	}
}

// Options choose behaviour beyond v1.36's default, which is the zero value.
type Options struct {
	// CompareNamespaces makes a what-if about a ReadWriteOncePod claim look at the namespaces of the pods it adds and
	// removes. v1.36 compares the claims' names alone, so evicting a pod of another namespace seems to help.
	CompareNamespaces bool
	// ReserveCapacity counts the claims that a Ledger's pods are having provisioned, and the pod's own earlier claims,
	// against CSIStorageCapacity objects. v1.36 tests every claim alone against what the driver published.
	ReserveCapacity bool
	// RequireDriver rejects nodes without a driver whose CSIDriver sets spec.preventPodSchedulingIfMissing, as v1.36 does
	// with the feature gate VolumeLimitScaling.
	RequireDriver bool
}
