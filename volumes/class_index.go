package volumes

import (
	"iter"

	v1 "k8s.io/api/core/v1"
)

// byStorageClass is optional for a table of PersistentVolumes. OfClass yields the volumes of one class in the order of All.
type byStorageClass interface {
	OfClass(class string) iter.Seq[*v1.PersistentVolume]
}

// candidatesFor yields the volumes that a claim of a class may take, and other volumes too when the table has no index.
func candidatesFor(t Table[*v1.PersistentVolume], class, namespace, claim string) iter.Seq[*v1.PersistentVolume] {
	if x, ok := t.(interface {
		// CandidatesFor yields the volumes of one class that have no claimRef, or whose claimRef names the claim. Each of the two
		// kinds comes in the order of All.
		CandidatesFor(class, namespace, claim string) iter.Seq[*v1.PersistentVolume]
	}); ok {
		return x.CandidatesFor(class, namespace, claim)
	}
	return ofClass(t, class)
}

// ofClass yields the volumes of a class, and the volumes of other classes too when the table has no index.
func ofClass(t Table[*v1.PersistentVolume], class string) iter.Seq[*v1.PersistentVolume] {
	if x, ok := t.(byStorageClass); ok {
		return x.OfClass(class)
	}
	return allOf(t)
}

// mayName reports whether a volume of a class may have a claimRef that names the claim.
func mayName(t Table[*v1.PersistentVolume], class, namespace, claim string) bool {
	if t == nil {
		return false
	}
	x, ok := t.(interface {
		// MayName reports whether one of the volumes that CandidatesFor yields may have a claimRef.
		MayName(class, namespace, claim string) bool
	})
	return !ok || x.MayName(class, namespace, claim)
}
