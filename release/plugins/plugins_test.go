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

// What runs at the points that few plugins have, or that decide without a PreFilter.
func TestPointsOfPlugins(t *testing.T) {
	for point, want := range map[string][]string{
		"PreEnqueue": {SchedulingGates, DynamicResources, DefaultPreemption},
		"PostFilter": {DynamicResources, DefaultPreemption},
		"Filter": {NodeUnschedulable, NodeName, TaintToleration, NodeAffinity, NodePorts, NodeResourcesFit, VolumeRestrictions, NodeVolumeLimits, VolumeBinding,
			VolumeZone, PodTopologySpread, InterPodAffinity, DynamicResources, NodeDeclaredFeatures},
	} {
		require.ElementsMatch(t, want, DefaultAt(release.Current, point), point)
	}
}

// The result of Expand is the caller's.
func TestExpandSharesNothing(t *testing.T) {
	own := []string{"A", "B"}
	got, err := Expand("Filter", own, []string{"*"}, nil, nil)
	require.NoError(t, err)
	got[0] = "C"
	require.Equal(t, []string{"A", "B"}, own)
}
