package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/queue"
)

// Wake names the events of a plugin of the caller, and returns the error of a profile whose plugins cannot wait.
func TestWakeOfOwnPlugins(t *testing.T) {
	own := &placement.Plugin{Name: "Own", Events: []queue.Event{{Resource: "Node", Action: queue.UpdateNodeAnnotation}},
		Filter: func(*v1.Pod, placement.Cluster) placement.PreFiltered {
			return placement.PreFiltered{Code: filter.Unschedulable, Reasons: []string{"not today"}}
		}}
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Capacity("cpu=4,pods=10").Obj()}})
	require.NoError(t, err)
	profile := placement.DefaultProfile()
	profile.Filters = append(profile.Filters, own)
	out, err := Wake(Input{Snapshot: s, Profile: profile}, testkit.Pod("p").Obj(), WakeOptions{})
	require.NoError(t, err)
	require.Equal(t, []WakeEvent{{"Own", "NodeUpdateNodeAnnotation"}}, out.Events)

	own.Name = "DefaultBinder"
	_, err = Wake(Input{Snapshot: s, Profile: profile}, testkit.Pod("p").Obj(), WakeOptions{})
	require.ErrorContains(t, err, "is the name of a built-in plugin that filters nothing")
}
