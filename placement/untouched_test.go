package placement

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// A plan has plugins over what it shares. The profile of the caller, from which other plans may be made, keeps its own.
func TestNewLeavesTheProfile(t *testing.T) {
	profile := DefaultProfile()
	filters, scores := slices.Clone(profile.Filters), slices.Clone(profile.Scores)
	s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
	require.NoError(t, err)
	p, err := New(s, profile)
	require.NoError(t, err)
	require.Zero(t, p.Decide(testkit.Pod("p").Obj(), Options{}).Failure)
	for k := range filters {
		require.Same(t, filters[k], profile.Filters[k], filters[k].Name)
	}
	for k := range scores {
		require.Same(t, scores[k].Plugin, profile.Scores[k].Plugin, scores[k].Plugin.Name)
	}
}

// The next search begins where it would have begun when a pod is rejected before any node.
func TestNextOfARejectedPod(t *testing.T) {
	p, s := planOf(t, cluster.Objects{Nodes: threeZones()})
	pod := testkit.Pod("p").Obj()
	pod.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "none"}}}}
	a := p.Prepare(pod)
	require.True(t, a.Rejected())
	require.Equal(t, 2, a.Search(Options{Next: 2}).Next)
	require.Less(t, 2, s.Len())
}
