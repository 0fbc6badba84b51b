package placement

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement/internal/reuse"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/volumes"
)

// The state that pods with as many volumes share rejects a free slot, like the state of one pod.
func TestKeptLimitsFreeSlot(t *testing.T) {
	claim, pv := waiting("data", "fast", "1Gi"), disk("pv-data", "fast", "a", "1Gi")
	bind(claim, pv, "csi.example.com")
	_, s := placerOf(t, cluster.Objects{Nodes: threeZones(), PersistentVolumes: []*v1.PersistentVolume{pv}, Claims: []*v1.PersistentVolumeClaim{claim}})
	slot := s.Slot("a2")
	k := limitsCounting{volumes.Options{}, newVolumes(s), s, new(volumes.LimitsState)}
	shared, err := k.Compile(mounting(testkit.Pod("p").Obj(), "data"))
	require.NoError(t, err)
	kept := shared.(*keptLimits)
	require.Zero(t, kept.Check(slot))
	require.NoError(t, s.Remove(s.Node(slot)))
	require.NotZero(t, kept.Check(slot))
	require.NotEmpty(t, kept.Reasons(kept.Check(slot)))
}

type withLog interface {
	Cluster
	reuse.Log
}

// logged is a cluster with a change log that finds no pod by name.
type logged struct {
	withLog
	objects volumes.Objects
}

func (c logged) VolumeObjects() volumes.Objects { return c.objects }

// A change log is enough for limits that pods share.
func TestKeptLimitsWithoutLookups(t *testing.T) {
	limit := int32(2)
	o := cluster.Objects{Nodes: []*v1.Node{testkit.Node("a1").Capacity("cpu=4,memory=8Gi").Obj()}, CSINodes: []*storagev1.CSINode{{
		ObjectMeta: metav1.ObjectMeta{Name: "a1"}, Spec: storagev1.CSINodeSpec{
			Drivers: []storagev1.CSINodeDriver{{Name: "csi.example.com", Allocatable: &storagev1.VolumeNodeResources{Count: &limit}}}}}}}
	var pods []*v1.Pod
	for _, name := range []string{"x", "y", "z"} {
		claim, pv := waiting(name, "fast", "1Gi"), disk("pv-"+name, "fast", "a", "1Gi")
		pv.Spec.NodeAffinity = nil
		bind(claim, pv, "csi.example.com")
		o.Claims, o.PersistentVolumes = append(o.Claims, claim), append(o.PersistentVolumes, pv)
		pods = append(pods, mounting(testkit.Pod(name).Obj(), name))
	}
	s, err := cluster.New(o)
	require.NoError(t, err)
	p, err := New(logged{s, volumeObjectsOf(s)}, Profile{Filters: []*Plugin{DefaultProfile().Filter(plugins.NodeVolumeLimits)}})
	require.NoError(t, err)
	for k, pod := range pods {
		d := p.Decide(pod, Options{})
		require.Equal(t, k < int(limit), d.Placed(), pod.Name)
		if d.Placed() {
			require.NoError(t, s.Assume(pod, d.Slot))
		}
	}
}
