package placement

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/volumes"
)

func localVolumes(t *testing.T) (*Placer, *cluster.Snapshot) {
	return placerOf(t, cluster.Objects{
		Nodes: threeZones(), StorageClasses: []*storagev1.StorageClass{storageClass("local", "kubernetes.io/no-provisioner")},
		PersistentVolumes: []*v1.PersistentVolume{disk("d1", "local", "b", "1Gi"), disk("d2", "local", "c", "1Gi")},
		Claims:            []*v1.PersistentVolumeClaim{waiting("x", "local", "1Gi"), waiting("y", "local", "1Gi"), waiting("z", "local", "1Gi")},
	})
}

// Nobody counts who uses a claim that any number of pods may use.
func TestRestrictionsSkipSharedClaims(t *testing.T) {
	_, s := localVolumes(t)
	f := newVolumeRestrictions(volumes.Options{}).Filter(mounting(testkit.Pod("p").Obj(), "x"), s)
	require.Equal(t, filter.Skip, f.Code)
}

// A pod whose claims must be asked about by themselves shares nothing with a pod without claims, whatever other plugins there are.
func TestClaimsShareNothingWithPlainPods(t *testing.T) {
	for _, name := range []string{plugins.VolumeBinding, plugins.VolumeZone} {
		_, s := localVolumes(t)
		all := DefaultProfile()
		p, err := New(s, Profile{Filters: []*Plugin{all.Filter(name)}, Scores: all.Scores})
		require.NoError(t, err)
		plain, claiming := testkit.Pod("plain").Obj(), mounting(testkit.Pod("claiming").Obj(), "x")
		missing := mounting(testkit.Pod("missing").Obj(), "none")
		for range 4 {
			require.Equal(t, "a1", p.Decide(plain, Options{}).Node)
			if name == plugins.VolumeBinding {
				require.Equal(t, "b1", p.Decide(claiming, Options{}).Node)
			}
			require.False(t, p.Decide(missing, Options{}).Placed())
		}
	}
}
