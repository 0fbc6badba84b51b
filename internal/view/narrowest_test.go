package view_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/podberth/podberth/internal/view"
)

// The requirement with the fewest values wins, of equal requirements the first.
func TestNarrowest(t *testing.T) {
	for text, want := range map[string]struct {
		key    string
		values []string
	}{
		"":                        {},
		"a,!b,c notin (x),d!=y":   {},
		"a=x":                     {"a", []string{"x"}},
		"a==x,b":                  {"a", []string{"x"}},
		"a in (y,x)":              {"a", []string{"x", "y"}},
		"a in (x,y,z),b in (x,y)": {"b", []string{"x", "y"}},
		"a in (x,y),b in (x,y,z)": {"a", []string{"x", "y"}},
		"a in (x,y),b in (v,w)":   {"a", []string{"x", "y"}},
	} {
		s, err := labels.Parse(text)
		require.NoError(t, err, text)
		key, values, ok := view.Narrowest(s)
		require.True(t, ok)
		require.Equal(t, want.key, key, text)
		require.Equal(t, want.values, values, text)
	}
	twice, err := labels.NewRequirement("a", selection.In, []string{"y", "x", "y"})
	require.NoError(t, err)
	_, values, _ := view.Narrowest(labels.NewSelector().Add(*twice))
	require.Equal(t, []string{"x", "y"}, values, "each value once")
	_, _, ok := view.Narrowest(labels.Nothing())
	require.False(t, ok)
}
