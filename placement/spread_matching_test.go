package placement_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/spread"
	"github.com/podberth/podberth/taints"
)

// A full node whose taint the pod tolerates by a comparison is an empty domain when the operators that compare are on. The pod then has no
// node. PodTopologySpread takes the operators from Taints unless it has its own.
func TestMatchingOfSpread(t *testing.T) {
	s, err := cluster.New(cluster.Objects{
		Nodes: []*v1.Node{
			testkit.Node("a").Label("zone", "a").Capacity("cpu=9,pods=9").Obj(),
			testkit.Node("c").Label("zone", "c").Taint("k=5:NoSchedule").Capacity("cpu=9,pods=0").Obj(),
		},
		Pods: []*v1.Pod{testkit.Pod("default/web").Labels("app=web").On("a").Obj()},
	})
	require.NoError(t, err)
	pod := testkit.Pod("default/p").Labels("app=web").Obj()
	honor := v1.NodeInclusionPolicyHonor
	pod.Spec.Tolerations = []v1.Toleration{{Key: "k", Operator: v1.TolerationOpGt, Value: "4"}}
	pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule, NodeTaintsPolicy: &honor,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}}
	on := taints.Options{ComparisonOperators: true}
	for _, c := range []struct {
		args placement.PluginArgs
		node string
	}{
		{placement.PluginArgs{}, "a"},
		{placement.PluginArgs{Taints: on}, ""},
		{placement.PluginArgs{PodTopologySpread: spread.Options{Matching: on}}, ""},
	} {
		p, err := placement.New(s, c.args.Profile())
		require.NoError(t, err)
		require.Equal(t, c.node, p.Decide(pod, placement.Options{}).Node)
	}
}
