package volume

import (
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// byStorageClass is optional for the table of PersistentVolumes: those of one class, in the order of All.
type byStorageClass interface {
	OfClass(class string) iter.Seq[*v1.PersistentVolume]
}

// IndexClasses returns the table with an index of the volumes by class, so that compiling a claim that waits for its first
// consumer looks at its class's volumes only. The table must not change while the index is in use. O(volumes).
func IndexClasses(t Table[*v1.PersistentVolume]) Table[*v1.PersistentVolume] {
	x := &classIndex{Table: t, classes: map[string][]*v1.PersistentVolume{}}
	if t == nil {
		x.Table = List[*v1.PersistentVolume]()
	}
	for pv := range x.All() {
		name := volumeClass(pv)
		x.classes[name] = append(x.classes[name], pv)
	}
	return x
}

type classIndex struct {
	Table[*v1.PersistentVolume]
	classes map[string][]*v1.PersistentVolume
}

// OfClass yields the volumes of a class in the table's order.
func (x *classIndex) OfClass(class string) iter.Seq[*v1.PersistentVolume] {
	return slices.Values(x.classes[class])
}

// ofClass yields the volumes of a class, and of others when there is no index.
func ofClass(t Table[*v1.PersistentVolume], class string) iter.Seq[*v1.PersistentVolume] {
	if x, ok := t.(byStorageClass); ok {
		return x.OfClass(class)
	}
	return all(t)
}
