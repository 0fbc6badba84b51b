package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// What ends the state of a node is a remedy that is decided like any other; a node that goes away has none.
func TestRecover(t *testing.T) {
	node := func(name string, ready string, taints ...string) *v1.Node {
		n := testkit.Node(name).Capacity("cpu=4").Obj()
		n.Spec.Taints = testkit.Taints(taints...)
		n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionFalse, Message: ready}}
		return n
	}
	type test struct {
		name, why string
		node      *v1.Node
		want      []string
	}
	testkit.Run(t, []test{
		{"disk", "the kubelet lifts it", node("n1", "", v1.TaintNodeDiskPressure+":NoSchedule"), []string{"free disk on n1 (the kubelet then lifts the taint): then it goes to n1"}},
		{"network plugin", "the condition says so", node("n2", "cni plugin not initialized", v1.TaintNodeNotReady+":NoSchedule"), []string{"start the network plugin of n2: then it goes to n2"}},
		{"two states", "both must end", node("n3", "", v1.TaintNodeNotReady+":NoSchedule", v1.TaintNodeDiskPressure+":NoSchedule"),
			[]string{"bring n3 back (its kubelet reports Ready), and free disk on n3 (the kubelet then lifts the taint): then it goes to n3"}},
		{"leaving", "the autoscaler deletes it", node("n4", "", "ToBeDeletedByClusterAutoscaler=1:NoSchedule"), nil},
		{"a pool beside", "the pod is not meant for it", node("n5", "", v1.TaintNodeDiskPressure+":NoSchedule", "team=x:NoSchedule"), nil},
	}, func(t *testing.T, c test) {
		d := relax(t, cluster.Objects{Nodes: []*v1.Node{c.node}}, testkit.Pod("p").Request("cpu=1").Obj(), Options{Cost: only(Recover, Tolerate, Untaint)})
		require.Equal(t, c.want, d.Advice())
	})
}

// A cluster's list of nodes may have nil ones.
func TestOpeningOfNil(t *testing.T) {
	n := testkit.Node("n1").Obj()
	n.Spec.Taints = testkit.Taints("team=x:NoSchedule")
	nodes := []*v1.Node{nil, n}
	require.Equal(t, OpeningOf(testkit.Pod("p").Obj(), n, Around{Nodes: []*v1.Node{n}}), OpeningOf(testkit.Pod("p").Obj(), n, Around{Nodes: nodes}))
	require.Equal(t, []*v1.Node{nil, n}, nodes, "the list is the caller's")
}

// A group that All did not make has no diagnosis, and no advice.
func TestAdviceOfNothing(t *testing.T) { require.Empty(t, Group{}.Advice()) }
