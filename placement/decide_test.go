package placement

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

func TestDecideSmoke(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{
		testkit.Node("n1").Zone("a").Capacity("cpu=4,memory=4Gi").Obj(),
		testkit.Node("n2").Zone("b").Capacity("cpu=8,memory=4Gi").Obj(),
	}})
	require.NoError(t, err)
	p, err := New(s, DefaultProfile())
	require.NoError(t, err)
	d := p.Decide(testkit.Pod("p").Request("cpu=1,memory=1Gi").Obj(), Options{})
	require.Nil(t, d.Failure)
	require.Equal(t, "n2", d.Node)
	require.EqualValues(t, 452, d.Total)
}

func TestRejectersOnce(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Obj(), testkit.Node("n2").Obj()}})
	require.NoError(t, err)
	p, err := New(s, DefaultProfile())
	require.NoError(t, err)
	pod := testkit.Pod("p").Obj()
	pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: v1.NodeSelectorOpExists}},
			MatchFields:      []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"n1"}}},
		}}},
	}}
	require.Equal(t, []string{"NodeAffinity"}, p.Decide(pod, Options{}).Failure.Rejecters, "it narrows the nodes and rejects what is left")
}
