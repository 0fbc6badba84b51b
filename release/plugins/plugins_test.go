package plugins

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/release"
)

func TestListsAreSound(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range InTree() {
		require.False(t, seen[p.Name], "%s stands twice", p.Name)
		require.NotEmpty(t, p.Points, p.Name)
		require.True(t, p.Weight == 0 || p.At("Score"), "%s has a weight and no score", p.Name)
		seen[p.Name] = true
	}
	require.Len(t, Default(release.Current), 20)
}
