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
