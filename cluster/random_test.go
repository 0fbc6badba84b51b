package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

func TestSmoke(t *testing.T) {
	s, err := New(Objects{Nodes: []*v1.Node{testkit.Node("n1").Zone("a").Obj()}, Pods: []*v1.Pod{testkit.Pod("p").Request("cpu=1").On("n1").Obj()}})
	require.NoError(t, err)
	m := s.Mark()
	require.NoError(t, s.Assume(testkit.Pod("q").Obj(), 0))
	require.Equal(t, int64(2), s.Requested(0)[3])
	s.Rollback(m)
	require.Equal(t, int64(1), s.Requested(0)[3])
}
