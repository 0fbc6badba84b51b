package placement

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// Pods with host ports share work. A node without room and without the port is rejected for the port, which comes first in plugin
// order.
func TestPortsShareWork(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
	require.NoError(t, err)
	with, err := NewPlacer(s, DefaultProfile())
	require.NoError(t, err)
	decide := func(n int, cpu string) Decision {
		p := testkit.Pod(fmt.Sprintf("p%d", n)).Request("cpu="+cpu).HostPort("", v1.ProtocolTCP, 80).Obj()
		without, err := New(s, DefaultProfile())
		require.NoError(t, err)
		without.engine = nil
		d := with.Decide(p, Options{})
		require.Equal(t, text(without.Decide(p, Options{})), text(d))
		require.True(t, used(with.Plan, p))
		if d.Placed() {
			require.NoError(t, with.Assume(p, d))
		}
		return d
	}
	nodes, n := len(s.Order()), 0
	for ; n < nodes; n++ {
		require.True(t, decide(n, "100m").Placed())
	}
	const taken = "node(s) didn't have free ports for the requested pod ports"
	for range 3 {
		n++
		require.Contains(t, decide(n, "100m").Failure.Text(), fmt.Sprintf("%d %s", nodes, taken))
		require.Contains(t, decide(n, "900").Failure.Text(), fmt.Sprintf("%d %s", nodes, taken))
	}
	require.NoError(t, with.Forget(s.Pod("default", "p0")))
	n++
	require.Contains(t, decide(n, "900").Failure.Text(), "1 Insufficient cpu")
	require.True(t, decide(n, "100m").Placed())
}

// A node that came into a free slot and was rolled back leaves nothing in the boxes of nodes.
func TestRolledBackNode(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
	require.NoError(t, err)
	require.NoError(t, s.Remove(s.Node(0)))
	p, err := NewPlacer(s, DefaultProfile())
	require.NoError(t, err)
	n := 0
	decide := func() Decision { // each pod asks for an amount of its own
		n++
		return p.Decide(testkit.Pod(fmt.Sprintf("p%d", n)).Request(fmt.Sprintf("cpu=100m,memory=%d", 1<<20+n)).Obj(), Options{})
	}
	for range 4 {
		require.True(t, decide().Placed())
	}
	mark := s.Mark()
	require.NoError(t, s.Set(testkit.Node("new").Capacity("cpu=64,memory=64Gi").Obj()))
	require.NoError(t, s.Assume(testkit.Pod("on-new").Request("cpu=1").Obj(), s.Slot("new")))
	s.Rollback(mark)
	require.True(t, decide().Placed())
	require.NotEqual(t, "new", decide().Node)
}
