package placement

import (
	"fmt"
	"strings"
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

// Pods with disks of their own that are written into their specs share work. A node where a disk is in use is left out for the pods with that disk
// alone.
func TestKeptDisks(t *testing.T) {
	var nodes []*v1.Node // the first has the most room
	for k, name := range []string{"a", "b", "c"} {
		nodes = append(nodes, testkit.Node(name).Capacity(fmt.Sprintf("cpu=%d,memory=%dGi", 300-k, 300-k)).Obj())
	}
	p, _ := placerOf(t, cluster.Objects{Nodes: nodes})
	for k, x := range []struct{ disks, node string }{
		{"x", "a"}, {"y", "a"}, {"x", "b"}, {"y z", "b"}, {"z", "a"}, {"u x", "c"}, {"z y", "c"}, {"u", "a"},
	} {
		pod := withDisks(testkit.Pod(fmt.Sprint("pod-", k)).Obj(), strings.Fields(x.disks)...)
		require.Equal(t, x.node, place(t, p, pod).Node, x.disks)
		require.True(t, used(p.Plan, pod), x.disks)
	}
	d := p.Decide(withDisks(testkit.Pod("last").Obj(), "u", "y"), Options{})
	require.Equal(t, "0/3 nodes are available: 3 node(s) had no available disk.", d.Failure.Message.String())
}
