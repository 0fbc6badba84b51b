package placement_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// What is kept for one host port is not taken for another one: the nodes that have port 81 free are other nodes than those that have port 80 free.
func TestTwoHostPorts(t *testing.T) {
	var o cluster.Objects
	for k := range 6 {
		name := fmt.Sprintf("n%d", k)
		o.Nodes = append(o.Nodes, testkit.Node(name).Capacity("cpu=8,pods=20").Obj())
		o.Pods = append(o.Pods, testkit.Pod("r"+name).Request("cpu=1").HostPort("", v1.ProtocolTCP, int32(80+k%2)).On(name).Obj())
	}
	s, err := cluster.New(o)
	require.NoError(t, err)
	plan, err := placement.New(s, placement.DefaultProfile())
	require.NoError(t, err)
	for k := range 6 {
		p := testkit.Pod(fmt.Sprint("p", k)).Request(fmt.Sprintf("cpu=%d", 1+k/2)).HostPort("", v1.ProtocolTCP, int32(80+k%2)).Obj()
		d := plan.Decide(p, placement.Options{})
		require.Equal(t, 3, d.Feasible, p.Name)
		require.NotEqual(t, k%2, d.Slot%2, p.Name)
	}
}
