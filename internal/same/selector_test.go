package same

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The error of a selector is that of its first key, and else that of its first expression.
func TestErrorOfSelector(t *testing.T) {
	s := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "fine", "b": "-x", "c": "x-", "d": "-"}, MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: "In"}}}
	for range 50 {
		_, err := AsSelector(s)
		require.ErrorContains(t, err, `"-x"`)
	}
	s.MatchLabels = map[string]string{"a": "fine"}
	_, err := AsSelector(s)
	require.ErrorContains(t, err, "values set can't be empty")
	s.MatchExpressions = nil
	for _, right := range []*metav1.LabelSelector{s, {}, nil} {
		want, err := metav1.LabelSelectorAsSelector(right)
		require.NoError(t, err)
		got, err := AsSelector(right)
		require.NoError(t, err)
		require.Equal(t, want.String(), got.String())
	}
}
