package consolidation

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/taints"
)

// A pod that tolerates the taint of the cheap node by comparison may go there: the bound counts what the profile's filter allows.
func TestBoundOfComparedTaints(t *testing.T) {
	for _, c := range []struct {
		compares bool
		bound    int64
	}{{false, 3}, {true, 1}} {
		pod := testkit.Pod("p").On("dear").Owner("apps/v1", "ReplicaSet", "r").Request("cpu=1").Obj()
		pod.Spec.Tolerations = []v1.Toleration{{Key: "sla", Operator: v1.TolerationOpGt, Value: "90"}}
		s, err := cluster.New(cluster.Objects{Pods: []*v1.Pod{pod}, Nodes: []*v1.Node{
			testkit.Node("cheap").Taint("sla=95:NoSchedule").Capacity("cpu=4,pods=9").Obj(), testkit.Node("dear").Capacity("cpu=4,pods=9").Obj()}})
		require.NoError(t, err)
		p, err := New(Input{
			Snapshot: s, Profile: placement.PluginArgs{Taints: taints.Options{ComparisonOperators: c.compares}}.Profile(),
			Price: func(n *v1.Node) int64 { return map[string]int64{"cheap": 1, "dear": 3}[n.Name] },
		})
		require.NoError(t, err)
		plan, err := p.Plan(Options{})
		require.NoError(t, err)
		require.Equal(t, []int64{c.bound, c.bound}, []int64{plan.After, plan.Bound})
	}
}
