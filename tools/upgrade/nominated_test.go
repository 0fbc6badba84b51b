package upgrade

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/tools/dump"
)

// Pending pods hold room on the nodes that they are nominated to, and take it themselves.
func TestNominated(t *testing.T) {
	high := testkit.Pod("high").Priority(9).Request("cpu=3").Nominated("n1").Obj()
	low := testkit.Pod("low").Request("cpu=2").Obj()
	s := newScheduler(&dump.Objects{
		Nodes: []*v1.Node{testkit.Node("n1").Capacity("cpu=4").Obj(), testkit.Node("n2").Capacity("cpu=3").Obj()}, Pods: []*v1.Pod{high, low},
	}, placement.PluginArgs{}, all(release.V1_36))
	require.Equal(t, verdict{Outcome: "Scheduled", Node: "n2"}, s.ask(low), "n1 is kept for high")
	require.Equal(t, verdict{Outcome: "Scheduled", Node: "n1"}, s.ask(high))
}
