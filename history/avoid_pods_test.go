package history_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/history"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
)

// A profile of v1.18 keeps the pods of a controller away from a node that asks for it, however well the node scores.
func TestNodePreferAvoidPods(t *testing.T) {
	big := testkit.Node("big").Capacity("cpu=64,memory=64Gi").Obj()
	big.Annotations = map[string]string{v1.PreferAvoidPodsAnnotationKey: `{"preferAvoidPods":[{"podSignature":{"podController":{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"uid-web","controller":true}}}]}`}
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{big, testkit.Node("small").Capacity("cpu=4,memory=4Gi").Obj()}})
	require.NoError(t, err)
	profile := placement.DefaultProfile()
	profile.Scores = append(profile.Scores, placement.Weighted{Plugin: history.NodePreferAvoidPods(), Weight: 10000})
	p, err := placement.New(s, profile)
	require.NoError(t, err)
	pod := testkit.Pod("p").Request("cpu=1,memory=1Gi")
	require.Equal(t, "big", p.Decide(pod.Obj(), placement.Options{}).Node, "nobody's pod")
	d := p.Decide(pod.Owner("apps/v1", "ReplicaSet", "web").Obj(), placement.Options{})
	require.Equal(t, "small", d.Node)
	require.Greater(t, d.Total, int64(1_000_000), "weight 10000 of 100")
}

// nodesOnly is a cluster for a score that reads nodes alone.
type nodesOnly struct{ *testkit.Cluster }

func (nodesOnly) Schema() *resources.Schema                 { return &resources.Schema{} }
func (nodesOnly) Allocatable(int) resources.Vector          { return nil }
func (nodesOnly) Requested(int) resources.Vector            { return nil }
func (nodesOnly) NonZero(int) (cpuMilli, memoryBytes int64) { return 0, 0 }

func controlled(p *v1.Pod, kind string, uid types.UID) *v1.Pod {
	yes := true
	p.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ReplicaSet", Name: "not-controlling", UID: "uid-other"},
		{APIVersion: "v1", Kind: kind, Name: "c", UID: uid, Controller: &yes},
	}
	return p
}

func TestAvoidedControllers(t *testing.T) {
	node := func(name, annotation string) *v1.Node {
		n := testkit.Node(name).Obj()
		n.Annotations = map[string]string{v1.PreferAvoidPodsAnnotationKey: annotation}
		return n
	}
	entry := func(kind, uid string) string {
		return `{"preferAvoidPods":[{"podSignature":{}},{"podSignature":{"podController":{"apiVersion":"v1","kind":"` + kind + `","name":"c","uid":"` + uid + `","controller":true}}}]}`
	}
	nodes := []*v1.Node{node("same", entry("ReplicaSet", "u1")), node("other-uid", entry("ReplicaSet", "u2")), node("other-kind", entry("ReplicationController", "u1")),
		node("other-controller", entry("StatefulSet", "u1")), node("broken", "{"), nil, testkit.Node("plain").Obj()}
	type test struct {
		name string
		pod  *v1.Pod
		want []int64
	}
	testkit.Run(t, []test{
		{"replica set", controlled(testkit.Pod("web").Obj(), "ReplicaSet", "u1"), []int64{0, 100, 100, 100, 100, 100, 100}},
		{"replication controller", controlled(testkit.Pod("web").Obj(), "ReplicationController", "u1"), []int64{100, 100, 0, 100, 100, 100, 100}},
		{"other kinds cannot be avoided", controlled(testkit.Pod("web").Obj(), "StatefulSet", "u1"), []int64{100, 100, 100, 100, 100, 100, 100}},
		{"no controller", testkit.Pod("web").Obj(), []int64{100, 100, 100, 100, 100, 100, 100}},
	}, func(t *testing.T, tc test) {
		s, err := history.NodePreferAvoidPods().Score(tc.pod, nodesOnly{testkit.NewCluster(nodes, nil)})
		require.NoError(t, err)
		var got []int64
		for i := range nodes {
			got = append(got, s.Raw(i))
		}
		require.Equal(t, tc.want, got)
	})
}
