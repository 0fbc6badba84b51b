package admission

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// The default class is the first of a sorted list.
func FuzzDefaultPriorityClass(f *testing.F) {
	f.Add(testkit.RandomBytes(1, 4000))
	f.Fuzz(func(t *testing.T, data []byte) {
		for b := testkit.NewBytes(data); b.More(); {
			var classes, defaults []*schedulingv1.PriorityClass
			for range b.Below(5) {
				c := &schedulingv1.PriorityClass{Value: int32(b.Below(2)), GlobalDefault: !b.OneIn(4)}
				c.Name = string(rune('a' + len(classes)*7%5)) // no two are equal
				if classes = append(classes, c); c.GlobalDefault {
					defaults = append(defaults, c)
				}
			}
			slices.SortFunc(defaults, func(a, b *schedulingv1.PriorityClass) int {
				return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Name, b.Name))
			})
			if len(defaults) == 0 {
				require.Nil(t, defaultPriorityClass(classes))
			} else {
				require.Same(t, defaults[0], defaultPriorityClass(append(classes, nil)))
			}
		}
	})
}
