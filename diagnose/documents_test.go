package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// The documentation's node5 has the label zone-typo=zoneC in place of zone. A pod whose other nodes are full waits because node5 has
// no label zone. Pods on node5 do not count, so that no remedy moves or deletes one, and none sets the label on the node: that is a
// fact that somebody else states.
func TestDocumentZoneTypo(t *testing.T) {
	node := func(name, key, zone string) *v1.Node {
		return testkit.Node(name).Label(key, zone).Capacity("cpu=4,pods=110").Obj()
	}
	spread := func(name string) testkit.PodBuilder {
		return testkit.Pod(name).Labels("foo=bar").Spread(1, "zone", v1.DoNotSchedule, "foo=bar").Request("cpu=3")
	}
	o := cluster.Objects{
		Nodes: []*v1.Node{node("node1", "zone", "zoneA"), node("node2", "zone", "zoneA"), node("node3", "zone", "zoneB"), node("node4", "zone", "zoneB"), node("node5", "zone-typo", "zoneC")},
		Pods: []*v1.Pod{spread("p1").On("node1").Obj(), spread("p2").On("node2").Obj(), spread("p3").On("node3").Obj(), spread("p4").On("node4").Obj(),
			testkit.Pod("p5").Labels("foo=bar").On("node5").Obj()},
	}
	mypod := spread("mypod").Obj()
	c := causeOf(t, o, mypod)
	require.Equal(t, "node5 has no label zone, the topology key of its rule", c.Text)
	require.Equal(t, []string{"node5"}, c.Nodes)

	s, err := cluster.New(o)
	require.NoError(t, err)
	d, err := Relax(Input{Snapshot: s, Profile: placement.DefaultProfile()}, mypod, Options{})
	require.NoError(t, err)
	require.NotEmpty(t, d.Advice())
	for _, line := range d.Advice() {
		require.NotContains(t, line, "fewer such pods")
		require.NotContains(t, line, "p5")
		require.NotContains(t, line, "zone-typo")
	}
}
