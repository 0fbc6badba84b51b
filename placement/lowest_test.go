package placement

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
)

// The slots that a search for victims walks are those with a pod that may leave, whatever comes and goes.
func TestLeavingSlots(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var nodes []*v1.Node
	for k := range 6 {
		nodes = append(nodes, testkit.Node(fmt.Sprint("n", k)).Capacity("cpu=9,pods=20").Obj())
	}
	s, err := cluster.New(cluster.Objects{Nodes: nodes})
	require.NoError(t, err)
	placer, err := NewPlacer(s, DefaultProfile())
	require.NoError(t, err)
	seen := map[bool]int{}
	for range testkit.Rounds(3000) {
		p := testkit.Pod(fmt.Sprint("p", rng.IntN(12))).Priority(int32(rng.IntN(4))).On(fmt.Sprint("n", rng.IntN(6))).Obj()
		if rng.IntN(5) == 0 {
			group := "g"
			p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
		}
		switch old := s.Pod(p.Namespace, p.Name); {
		case rng.IntN(9) == 0: // a node goes and comes
			n := nodes[rng.IntN(6)]
			require.NoError(t, s.Remove(n))
			require.NoError(t, s.Set(n))
		case old == nil:
			require.NoError(t, s.Set(p))
		default:
			require.NoError(t, s.Remove(old))
		}
		if rng.IntN(3) == 0 {
			continue // several changes between two questions
		}
		priority := int32(rng.IntN(5))
		var want []int
		for _, i := range placer.order() {
			leaves := false
			for q := range s.Pods(i) {
				_, grouped := podgroup.Of(q)
				leaves = leaves || grouped || podinfo.Priority(q) < priority
			}
			seen[leaves]++
			if leaves {
				want = append(want, i)
			}
		}
		require.Equal(t, want, placer.preemption().leaving(priority))
	}
	require.Greater(t, min(seen[true], seen[false]), 100)
}
