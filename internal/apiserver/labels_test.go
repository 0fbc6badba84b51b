package apiserver

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Errors about labels come in the order of the keys, however often one asks.
func TestOrderOfErrors(t *testing.T) {
	bad := map[string]string{"a": "-", "b": "-x", "c": "x-", "d": "fine", "e ": "fine"}
	s := &metav1.LabelSelector{MatchLabels: bad, MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: "In"}}}
	o := metavalidation.LabelSelectorValidationOptions{}
	for range 50 {
		var values []any
		for _, e := range ValidateSelector(s, o, field.NewPath("selector")) {
			values = append(values, e.BadValue)
		}
		require.Equal(t, []any{"-", "-x", "x-", "e ", ""}, values)
	}
	one := &metav1.LabelSelector{MatchLabels: map[string]string{"a ": "-"}, MatchExpressions: s.MatchExpressions}
	require.Equal(t, metavalidation.ValidateLabelSelector(one, o, nil), ValidateSelector(one, o, nil))
	require.Empty(t, ValidateSelector(nil, o, nil))
	require.Empty(t, ValidateLabels(nil, nil))
}
