package taints

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Has reports whether list has a taint with the key and effect of taint.
func Has(list []v1.Taint, taint *v1.Taint) bool { return find(list, taint) >= 0 }

func find(list []v1.Taint, taint *v1.Taint) int {
	return slices.IndexFunc(list, func(t v1.Taint) bool { return Same(&t, taint) })
}

// AddOrUpdate returns list with taint in the place of the one with its key and effect, or at the end; changed is false
// when that one is equal in all fields. The result is a new list.
func AddOrUpdate(list []v1.Taint, taint v1.Taint) (result []v1.Taint, changed bool) {
	result = slices.Clone(list)
	i := find(list, &taint)
	if i < 0 {
		return append(result, taint), true
	}
	if identical(&list[i], &taint) {
		return result, false
	}
	result[i] = taint
	return result, true
}

// Remove returns list without the taints of that key and effect, an empty effect standing for all effects of the key, and
// the number of taints removed. The result is a new list.
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

// Difference returns the taints to add to and to remove from have to get the key and effect pairs of want. Values are
// not compared.
func Difference(want, have []v1.Taint) (add, remove []v1.Taint) {
	for i := range want {
		if !Has(have, &want[i]) {
			add = append(add, want[i])
		}
	}
	for i := range have {
		if !Has(want, &have[i]) {
			remove = append(remove, have[i])
		}
	}
	return add, remove
}

// identical reports whether all fields are, time added included.
func identical(a, b *v1.Taint) bool {
	return a.Key == b.Key && a.Value == b.Value && a.Effect == b.Effect && a.TimeAdded.Equal(b.TimeAdded)
}
