package edit

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// hasTaint reports whether list has a taint with the key and effect of taint.
func hasTaint(list []v1.Taint, taint *v1.Taint) bool { return findTaint(list, taint) >= 0 }

// findTaint returns the index of the taint with that key and effect, or -1. A node has at most one taint of each key and effect.
func findTaint(list []v1.Taint, taint *v1.Taint) int {
	return slices.IndexFunc(list, func(t v1.Taint) bool { return t.MatchTaint(taint) })
}

// AddOrUpdate returns list with taint. It replaces the taint of equal key and effect in place; without such a taint it adds
// taint at the end. The result is a new list.
func AddOrUpdate(list []v1.Taint, taint v1.Taint) []v1.Taint {
	result := slices.Clone(list)
	if i := findTaint(list, &taint); i >= 0 {
		result[i] = taint
		return result
	}
	return append(result, taint)
}

// Remove returns list without the taints of that key and effect, and the number of taints removed. An empty effect removes
// all effects of the key. The result is a new list.
func Remove(list []v1.Taint, key string, effect v1.TaintEffect) (result []v1.Taint, removed int) {
	for _, t := range list {
		if t.Key == key && (effect == "" || t.Effect == effect) {
			removed++
			continue
		}
		result = append(result, t)
	}
	return result, removed
}

// difference returns the taints of want that have lacks, and those of have that want lacks. It compares keys and effects,
// not values.
func difference(want, have []v1.Taint) (add, remove []v1.Taint) {
	for i := range want {
		if !hasTaint(have, &want[i]) {
			add = append(add, want[i])
		}
	}
	for i := range have {
		if !hasTaint(want, &have[i]) {
			remove = append(remove, have[i])
		}
	}
	return add, remove
}
