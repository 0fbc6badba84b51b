package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// A pod that leaves may go to every node but its own, and to no free slot.
func TestElsewhere(t *testing.T) {
	s, err := cluster.New(cluster.Objects{})
	require.NoError(t, err)
	n1, n2 := testkit.Node("n1").Obj(), testkit.Node("n2").Obj()
	require.NoError(t, s.Set(n1))
	require.NoError(t, s.Set(n2))
	e := elsewhere{s, "n1"}
	require.NotZero(t, e.Check(s.Slot("n1")))
	require.Zero(t, e.Check(s.Slot("n2")))
	free := s.Slot("n2")
	require.NoError(t, s.Remove(n2))
	require.NotZero(t, e.Check(free))
	require.NotEmpty(t, e.Reasons(e.Check(free)))
}
