package placement

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter/volume"
	"github.com/podberth/podberth/internal/testkit"
)

// The state that pods with as many volumes share rejects a free slot, like the state of one pod.
func TestKeptLimitsFreeSlot(t *testing.T) {
	claim, pv := waiting("data", "fast", "1Gi"), disk("pv-data", "fast", "a", "1Gi")
	bind(claim, pv, "csi.example.com")
	_, s := placerOf(t, cluster.Objects{Nodes: threeZones(), PersistentVolumes: []*v1.PersistentVolume{pv}, Claims: []*v1.PersistentVolumeClaim{claim}})
	slot := s.Slot("a2")
	k := limitsCounting{volume.Options{}, NewVolumes(s)}
	shared, err := k.Compile(mounting(testkit.Pod("p").Obj(), "data"))
	require.NoError(t, err)
	kept := shared.(*keptLimits)
	require.Zero(t, kept.Check(slot))
	require.NoError(t, s.Unset(s.Node(slot)))
	require.NotZero(t, kept.Check(slot))
	require.NotEmpty(t, kept.Reasons(kept.Check(slot)))
}
