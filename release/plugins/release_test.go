package plugins

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/release"
)

func TestReleases(t *testing.T) {
	for _, v := range release.Versions() {
		before := DefaultAt(v, "PreFilter")
		for _, name := range []string{NodeName, NodeUnschedulable, TaintToleration} {
			require.Equal(t, v.AtLeast(release.V1_37), slices.Contains(before, name), "L2.5: %s in %s", name, v)
		}
	}
	require.Equal(t, []string{NodeName, NodeUnschedulable, TaintToleration}, DefaultAt(release.V1_37, "PreFilter")[:3])
	require.Equal(t, Default(release.Current), Default(release.V1_37))
}

// Node affinity and inter-pod affinity filter and score by default in every release.
func TestAffinityInEveryRelease(t *testing.T) {
	for _, v := range release.Versions() {
		for _, point := range []string{"PreFilter", "Filter", "PreScore", "Score"} {
			for _, name := range []string{NodeAffinity, InterPodAffinity} {
				require.Contains(t, DefaultAt(v, point), name, "%s of %s", point, v)
			}
		}
	}
}
