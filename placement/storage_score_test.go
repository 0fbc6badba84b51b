package placement

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/score"
	"github.com/podberth/podberth/volumes"
)

// Zone b has the larger volume. v1.37 takes it, earlier releases take the first node.
func TestStorageOfReleases(t *testing.T) {
	for _, v := range release.Versions() {
		s, err := cluster.New(cluster.Objects{Release: v,
			Nodes: threeZones(), StorageClasses: []*storagev1.StorageClass{storageClass("local", "kubernetes.io/no-provisioner")},
			PersistentVolumes: []*v1.PersistentVolume{disk("disk-a", "local", "a", "20Gi"), disk("disk-b", "local", "b", "100Gi")},
			Claims:            []*v1.PersistentVolumeClaim{waiting("data-1", "local", "10Gi")},
		})
		require.NoError(t, err)
		p, err := NewPlacer(s, PluginArgs{Release: v}.Profile())
		require.NoError(t, err)
		pod := mounting(testkit.Pod("db-1").Obj(), "data-1")
		first, again := p.Decide(pod, Options{}), p.Decide(pod, Options{})
		require.Equal(t, first, again)
		want := "a1"
		if v.AtLeast(release.V1_37) {
			want = "b1"
		}
		require.Equal(t, want, first.Node, v.String())
	}
}

// Without the gate StorageCapacityScoring v1.37 has no score of storage (rule L2.4).
func TestStorageScoreTurnedOff(t *testing.T) {
	for _, off := range []bool{false, true} {
		p, err := PluginArgs{Volumes: volumes.Options{WithoutStorageScore: off}}.Plugin("VolumeBinding")
		require.NoError(t, err)
		require.Equal(t, off, p.Score == nil)
	}
}

// Before v1.36 scores over extended resources do not look at devices.
func TestScoredDevicesOfReleases(t *testing.T) {
	for _, v := range release.Versions() {
		args := PluginArgs{Release: v}
		args.BalancedAllocation.Resources = []score.Resource{{Name: "cpu", Weight: 1}, {Name: "example.com/gpu", Weight: 1}}
		args.NodeResourcesFit.Args.ScoringStrategy = &score.Strategy{Type: score.LeastAllocated, Resources: args.BalancedAllocation.Resources}
		for _, name := range []string{"NodeResourcesFit", "NodeResourcesBalancedAllocation"} {
			p, err := args.Plugin(name)
			require.NoError(t, err)
			require.Equal(t, v.AtLeast(release.V1_36), p.WithShared != nil, "L5.4: %s in %s", name, v)
		}
	}
}
