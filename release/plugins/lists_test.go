package plugins

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMerge(t *testing.T) {
	merge := func(defaults, enabled, disabled string) string {
		entries := Merge(strings.Fields(defaults), strings.Fields(enabled), strings.Fields(disabled), func(p string) string { return p[:1] })
		return strings.Join(entries, " ")
	}
	require.Equal(t, "a1 b1", merge("a1 b1", "", ""), "the defaults stay")
	require.Equal(t, "b1", merge("a1 b1", "", "a x"), "a disabled default goes")
	require.Equal(t, "a2 b1", merge("a1 b1", "a2", ""), "the only entry replaces the default")
	require.Equal(t, "a2 b1 c2", merge("a1 b1", "c2 a2", ""), "a default that is enabled keeps its place and gets the new weight")
	require.Equal(t, "a3 b1 a2", merge("a1 b1", "a2 a3", ""), "the last entry replaces the default, the other entry stays")
	require.Equal(t, "b1 a2", merge("a1 b1", "a2", "a"), "disabled and enabled: the plugin moves to the end")
	require.Equal(t, "c2 a2", merge("a1 b1", "c2 a2", "*"), "no default stays")
	require.Nil(t, Merge(nil, nil, nil, func(p string) string { return p }))
}

func TestExpand(t *testing.T) {
	missing := errors.New("missing")
	expand := func(own, disabled, multi string) (string, error) {
		names, err := Expand("Filter", strings.Fields(own), strings.Fields(disabled), strings.Fields(multi), func(name string) (bool, error) {
			if name == "gone" {
				return false, missing
			}
			return name != "other", nil
		})
		return strings.Join(names, " "), err
	}
	require.Equal(t, []string{"b", "d", "a", "c", "e"}, must(t)(expand("e b d", "", "a b c d other")), "own and multiPoint, then multiPoint, then own")
	require.Equal(t, []string{"c", "a"}, must(t)(expand("a", "a b", "a b c")), "a disabled plugin of the point's own list comes last")
	require.Equal(t, []string{"e", "a"}, must(t)(expand("e a", "*", "a gone")), "multiPoint is not read")
	_, err := expand("", "", "a a")
	require.EqualError(t, err, `plugin "a" already registered as "FilterPlugin"`)
	_, err = expand("", "", "a gone")
	require.ErrorIs(t, err, missing)
}

// must returns the names of a list without an error.
func must(t *testing.T) func(string, error) []string {
	return func(names string, err error) []string {
		t.Helper()
		require.NoError(t, err)
		return strings.Fields(names)
	}
}
