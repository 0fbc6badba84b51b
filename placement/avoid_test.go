package placement

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// A profile of v1.18 keeps the pods of a controller away from a node that asks for it, however well the node scores.
func TestNodePreferAvoidPods(t *testing.T) {
	big := testkit.Node("big").Capacity("cpu=64,memory=64Gi").Obj()
	big.Annotations = map[string]string{v1.PreferAvoidPodsAnnotationKey: `{"preferAvoidPods":[{"podSignature":{"podController":{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"uid-web","controller":true}}}]}`}
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{big, testkit.Node("small").Capacity("cpu=4,memory=4Gi").Obj()}})
	require.NoError(t, err)
	profile := DefaultProfile()
	profile.Scores = append(profile.Scores, Weighted{Plugin: NodePreferAvoidPods{}, Weight: 10000})
	p, err := New(s, profile)
	require.NoError(t, err)
	pod := testkit.Pod("p").Request("cpu=1,memory=1Gi")
	require.Equal(t, "big", p.Decide(pod.Obj(), Options{}).Node, "nobody's pod")
	d := p.Decide(pod.Owner("apps/v1", "ReplicaSet", "web").Obj(), Options{})
	require.Equal(t, "small", d.Node)
	require.Greater(t, d.Total, int64(1_000_000), "weight 10000 of 100")
}
