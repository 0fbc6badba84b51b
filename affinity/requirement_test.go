package affinity

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/testkit"
)

// FuzzRequirement compares a requirement with that of the API: whether it can be converted, the error, the text, and what it matches.
func FuzzRequirement(f *testing.F) {
	f.Add([]byte("requirements of some operators"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for b := testkit.NewBytes(data); b.More(); {
			text := func() string {
				return testkit.Pick(b, "a", "b", "", "7", "-7", "08", "+1", "9223372036854775808", "x/y", "a b", "-")
			}
			r := v1.NodeSelectorRequirement{Key: text(), Operator: testkit.Pick(b,
				v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn, v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist, v1.NodeSelectorOpGt, v1.NodeSelectorOpLt, "", "in")}
			for range b.Below(4) {
				r.Values = append(r.Values, text())
			}
			path := field.NewPath("p")
			var want *labels.Requirement
			err := error(field.NotSupported(path.Child("operator"), r.Operator, operatorNames))
			if op, known := map[v1.NodeSelectorOperator]selection.Operator{
				"In": selection.In, "NotIn": selection.NotIn, "Exists": selection.Exists, "DoesNotExist": selection.DoesNotExist,
				"Gt": selection.GreaterThan, "Lt": selection.LessThan,
			}[r.Operator]; known {
				want, err = labels.NewRequirement(r.Key, op, r.Values, field.WithPath(path))
			}
			got, ok := newRequirement(&r)
			require.Equal(t, err == nil, ok, "%v", r)
			if !ok {
				require.EqualError(t, refusal(&r, path), err.Error(), "%v", r)
				continue
			}
			require.Equal(t, want.String(), got.String())
			for range 4 {
				set := map[string]string{}
				for range b.Below(3) {
					set[testkit.Pick(b, r.Key, "b", "")] = text()
				}
				require.Equal(t, want.Matches(labels.Set(set)), got.matches(set), "%v on %v", r, set)
			}
		}
	})
}
