package placement

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
)

// Pods that get the same answer get failures of their own: a change of one of them changes no other, and its text follows.
func TestKnownFailures(t *testing.T) {
	var o cluster.Objects
	for _, name := range []string{"n1", "n2"} {
		o.Nodes = append(o.Nodes, testkit.Node(name).Capacity("cpu=2").Obj())
	}
	s, err := cluster.New(o)
	require.NoError(t, err)
	p, err := New(s, benchProfile())
	require.NoError(t, err)
	const text = "0/2 nodes are available: 2 Insufficient cpu."
	var last *Failure
	for range 5 {
		pod := testkit.Pod("web").Request("cpu=3").Obj()
		f := p.Decide(pod, Options{}).Failure
		require.NotSame(t, last, f)
		require.Nil(t, p.Failed(last), "an older failure")
		require.NotNil(t, p.Failed(f))
		require.Equal(t, text, f.Text())
		f.Message.PostFilter = "changed"
		require.Equal(t, text+" changed", f.Text())
		last = f
	}
	require.NoError(t, s.Set(testkit.Node("n3").Capacity("cpu=1").Obj()))
	require.Equal(t, "0/3 nodes are available: 3 Insufficient cpu.", p.Decide(testkit.Pod("web").Request("cpu=3").Obj(), Options{}).Failure.Text())
	require.Len(t, p.refused, 1, "those of before are gone")
	for len(p.refused) < maxRefused {
		p.refused[&filter.Histogram{}] = Failure{}
	}
	for range 2 { // the first answer of its kind with its lists, and a later one
		require.NotNil(t, p.Decide(testkit.Pod("web").Request("cpu=4").Obj(), Options{}).Failure)
	}
	require.Len(t, p.refused, 1, "there is a limit")
}
