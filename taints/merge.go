package taints

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/same"
)

// MergeTolerations returns the tolerations of a and then of b without each toleration that another toleration covers. Of
// equal tolerations the first stays. A toleration covers another when they are equal in all fields, or when all of this
// holds:
//
//  1. Its key is equal to the other key, or empty with operator Exists.
//  2. Its effect is equal to the other effect or empty. If its effect is NoExecute, it holds for at least as long.
//  3. Its operator is Exists; or its operator is Equal or empty, the other operator is Equal, and the values are equal.
//
// The result is a new list. O(n^2) for n tolerations.
func MergeTolerations(a, b []v1.Toleration) []v1.Toleration {
	all := slices.Concat(a, b)
	var merged []v1.Toleration
	for i := range all {
		covered := func(by v1.Toleration) bool { return same.CoversToleration(&by, &all[i]) }
		coveredLater := func(by v1.Toleration) bool { // not by itself
			return covered(by) && !same.Toleration(by, all[i])
		}
		if slices.ContainsFunc(merged, covered) || slices.ContainsFunc(all[i:], coveredLater) {
			continue
		}
		merged = append(merged, *all[i].DeepCopy())
	}
	return merged
}
