package view

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// Narrowest returns the key and the values, each once, of the requirement that allows the fewest values. key is "" when no requirement
// names values. ok is false for a selector that matches nothing.
func Narrowest(selector labels.Selector) (key string, values []string, ok bool) {
	requirements, ok := selector.Requirements()
	for i := range requirements {
		r := &requirements[i]
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			v := r.ValuesUnsorted() // a copy
			slices.Sort(v)
			if v = slices.Compact(v); key == "" || len(v) < len(values) {
				key, values = r.Key(), v
			}
		}
	}
	return key, values, ok
}
