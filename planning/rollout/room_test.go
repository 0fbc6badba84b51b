package rollout

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
)

// One node that takes pods and has no room is enough for a proof in numbers.
func TestOneNodeWithoutRoom(t *testing.T) {
	w := five("cpu=4")
	w.objects.Nodes = w.objects.Nodes[:2]
	w.app("web", "cpu=3", "n1 n2", nil)
	d := w.plan(t, given("n1")).Blocked[0]
	require.Equal(t, NoRoom, d.Kind)
	require.Contains(t, d.Proof, "NodeResourcesFit rejects 1 of the 1 nodes that take pods, 1 of them alone; n2: ")
}

// A replacement that a broken plugin stops has no room, and the plugin's error is the proof.
func TestRoomOfABrokenPlugin(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=3", "n1", nil)
	w.in.Profile.Filters = []*placement.Plugin{{Name: "Broken", Filter: func(*v1.Pod, placement.Cluster) placement.PreFiltered {
		return placement.PreFiltered{Code: filter.Error, Reasons: []string{"is broken"}}
	}}}
	d := w.plan(t, given("n1")).Blocked[0]
	require.Equal(t, NoRoom, d.Kind)
	require.Contains(t, d.Proof, "is broken")
}
