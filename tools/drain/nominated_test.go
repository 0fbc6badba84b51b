package drain

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/dump"
)

// A pending pod holds room on the node that it is nominated to, until it gets a node or finds none.
func TestNominated(t *testing.T) {
	old, waits, large := owned("old", "ReplicaSet"), testkit.Pod("waits").Request("cpu=4").Nominated("n2").Obj(), testkit.Pod("large").Request("cpu=9").Nominated("n2").Obj()
	old.Spec.NodeName = "n1"
	for _, c := range []struct {
		pending *v1.Pod
		first   bool // the pending pod is asked about before the eviction
		node    string
	}{{waits, false, ""}, {large, false, ""}, {large, true, "n2"}} {
		r, err := newReplacer(&input{objects: &dump.Objects{
			Nodes: []*v1.Node{testkit.Node("n1").Capacity("cpu=4").Obj(), testkit.Node("n2").Capacity("cpu=4").Obj()}, Pods: []*v1.Pod{old, c.pending},
		}}, []string{"n1"})
		require.NoError(t, err)
		if c.first {
			fits, err := r.fits(c.pending)
			require.NoError(t, err)
			require.False(t, fits)
		}
		node, ok := r.replace(old)
		require.Equal(t, c.node, node)
		require.Equal(t, c.node != "", ok)
	}
}
