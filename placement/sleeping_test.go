package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// Nodes that a rule rejects for their own count of pods are allowed again when other counts change. What changed on them in between counts: a plan
// decides as a plan without kept work.
func TestSleepingNodes(t *testing.T) {
	chosen := 0
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 71))
		var o cluster.Objects
		for i := range 40 {
			name := fmt.Sprint("n", i)
			o.Nodes = append(o.Nodes, testkit.Node(name).Capacity("cpu=64,memory=64Gi,pods=90").Label(v1.LabelHostname, name).Obj())
		}
		s, err := cluster.New(o)
		require.NoError(t, err)
		plan, err := New(s, benchProfile())
		require.NoError(t, err)
		var running []*v1.Pod
		for step := range 300 {
			at := fmt.Sprintf("seed %d step %d", seed, step)
			switch name := fmt.Sprint("p", step); r.IntN(5) {
			case 0, 4:
				p := testkit.Pod(name).Request(fmt.Sprintf("cpu=%d", 1+r.IntN(3))).Obj()
				require.NoError(t, s.Assume(p, r.IntN(40)), at)
				running = append(running, p)
			case 1:
				if len(running) > 0 {
					k := r.IntN(len(running))
					require.NoError(t, s.Remove(running[k]), at)
					running = slices.Delete(running, k, k+1)
				}
			default:
				pod := testkit.Pod(name).Labels("app=x").Request("cpu=1").Spread(int32(1+r.IntN(2)), v1.LabelHostname, v1.DoNotSchedule, "app=x").Obj()
				var q Options
				if r.IntN(2) == 0 {
					k := r.IntN(3)
					q.Tie = func(n int) int { return min(k, n-1) }
				}
				if r.IntN(3) == 0 {
					at := r.IntN(40)
					large := testkit.Pod("large").Priority(9).Request("cpu=64").Obj()
					q.Nominated, q.NominatedSlots = func(i int) []*v1.Pod {
						if i != at {
							return nil
						}
						return []*v1.Pod{large}
					}, []int{at}
				}
				slow, err := New(s, benchProfile())
				require.NoError(t, err)
				slow.engine = nil
				d := plan.Decide(pod, q)
				require.Equal(t, text(slow.Decide(pod, q)), text(d), at)
				if d.Placed() {
					chosen++
					require.NoError(t, s.Assume(pod, d.Slot), at)
					running = append(running, pod)
				}
			}
		}
	}
	require.Greater(t, chosen, 1000)
}
