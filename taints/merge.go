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
		covered := func(by v1.Toleration) bool { return covers(&by, &all[i]) }
		coveredLater := func(by v1.Toleration) bool {
			return covered(by) && !same.Toleration(by, all[i])
		}
		if slices.ContainsFunc(merged, covered) || slices.ContainsFunc(all[i+1:], coveredLater) {
			continue
		}
		merged = append(merged, *all[i].DeepCopy())
	}
	return merged
}

// covers reports whether a covers b, see MergeTolerations.
func covers(a, b *v1.Toleration) bool {
	if same.Toleration(*a, *b) {
		return true
	}
	everyKey := a.Key == "" && a.Operator == v1.TolerationOpExists
	if a.Key != b.Key && !everyKey || a.Effect != "" && a.Effect != b.Effect {
		return false
	}
	shorter := a.TolerationSeconds != nil && (b.TolerationSeconds == nil || *a.TolerationSeconds < *b.TolerationSeconds)
	if a.Effect == v1.TaintEffectNoExecute && shorter {
		return false
	}
	switch a.Operator {
	case v1.TolerationOpExists:
		return true
	case "", v1.TolerationOpEqual:
		return b.Operator == v1.TolerationOpEqual && a.Value == b.Value
	}
	return false
}
