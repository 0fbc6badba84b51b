package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// Pods move when the pod then goes to the node, and to no node when one of them stays. The change keeps all its pods.
func TestTogether(t *testing.T) {
	type test struct {
		name, why, request, node string
		want                     bool
	}
	testkit.Run(t, []test{
		{"both are needed", "n1 has 4 cpu", "cpu=4", "n1", true},
		{"the first is enough", "n1 has 3 cpu without it", "cpu=3", "n1", false},
		{"the second is enough", "n1 has 3 cpu without it", "cpu=3", "n1", false},
		{"no room", "n1 is too small", "cpu=5", "n1", false},
		{"another node", "the pod goes to n1", "cpu=4", "n2", false},
	}, func(t *testing.T, c test) {
		pods := []*v1.Pod{running("a", "n1", "cpu=1"), running("b", "n1", "cpu=2")}
		if c.name == "the first is enough" {
			pods = []*v1.Pod{running("a", "n1", "cpu=2"), running("b", "n1", "cpu=1")}
		}
		nodes := []*v1.Node{testkit.Node("n1").Capacity("cpu=4").Label("disk", "ssd").Obj(), testkit.Node("n2").Capacity("cpu=8").Obj()}
		d := begun(t, cluster.Objects{Nodes: nodes, Pods: pods}, testkit.Pod("web").NodeSelector("disk=ssd").Request(c.request).Obj())
		moves := &Change{Kind: MovePods, remove: pods, to: map[*v1.Pod]string{pods[0]: "n2", pods[1]: "n2"}, make: leave}
		require.Equal(t, c.want, d.together([]*Change{moves}, moves, c.node), c.why)
		require.Equal(t, pods, moves.remove)
	})
}

// A part of an answer has the pods that leave with its own budgets.
func TestEnough(t *testing.T) {
	pods := []*v1.Pod{running("a", "n1", "cpu=1"), running("b", "n1", "cpu=1")}
	d := begun(t, cluster.Objects{Nodes: five()[:1], Pods: pods, PodDisruptionBudgets: []*policyv1.PodDisruptionBudget{budget("pdb", "a", 0)}}, testkit.Pod("web").Request("cpu=3").Obj())
	c := d.removal(0, 0)[0]
	c.evicts, c.Leaving = true, []Leaving{{Pod: "default/a"}, {Pod: "default/b"}}
	r := d.enough([]*Change{c})
	require.Equal(t, "n1", r.Node)
	require.Equal(t, []Leaving{{Pod: "default/b"}}, r.Changes[0].Leaving)
	require.Equal(t, pods[1:], r.Changes[0].remove)
}

// A node without labels gets its first one.
func TestFirstLabel(t *testing.T) {
	n := &v1.Node{}
	setLabel(n, "disk", "ssd")
	setLabel(n, "zone", "a")
	require.Equal(t, map[string]string{"disk": "ssd", "zone": "a"}, n.Labels)
}
