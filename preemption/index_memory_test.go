package preemption_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
)

// A plan that has kept work while the cluster changed answers like a new plan, which has kept nothing.
func TestMemoryDoesNotMatter(t *testing.T) {
	asked, found := 0, 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		s, _ := chance(r, true)
		snapshot, err := cluster.New(cluster.Objects{Nodes: s.nodes, Pods: s.pods})
		require.NoError(t, err)
		plan, err := placement.New(snapshot, placement.DefaultProfile())
		require.NoError(t, err)
		o := placement.Options{Nominated: func(i int) []*v1.Pod { return s.nominated[snapshot.Node(i).Name] }}
		po := placement.PreemptOptions{Budgets: disruption.NewBudgets(s.budgets, s.empty), Now: now, Options: s.options}
		running := s.pods
		for k := range 12 {
			if _, p := chance(r, true); !plan.Decide(p, o).Placed() {
				fresh, err := placement.New(snapshot, placement.DefaultProfile())
				require.NoError(t, err)
				got, want := plan.Preempt(p, nil, o, po), fresh.Preempt(p, nil, o, po)
				require.Equal(t, want, got, "seed %d", seed)
				if asked++; got.Outcome == preemption.Success {
					found++
				}
			}
			switch n := r.IntN(4); {
			case n == 0 && len(running) > 0:
				running = oneLeaves(t, r, snapshot, running)
			case n == 1:
				err := snapshot.Set(testkit.Node(fmt.Sprintf("%c%d", 'a'+rune(r.IntN(26)), 100+k)).Zone("a").Capacity("cpu=2").Obj())
				require.NoError(t, err)
			default:
				p := pod(fmt.Sprintf("more%d", k), int32(r.IntN(4)), "1", "").Labels("app=x").Obj()
				require.NoError(t, snapshot.Assume(p, snapshot.Slot(s.nodes[r.IntN(len(s.nodes))].Name)))
				running = append(running, p)
			}
		}
	}
	require.Greater(t, found, 100)
	require.Greater(t, asked, found+100, "both outcomes occur")
}

// oneLeaves takes a pod out of the cluster at random, and returns the pods that run on.
func oneLeaves(t *testing.T, r *rand.Rand, snapshot *cluster.Snapshot, running []*v1.Pod) []*v1.Pod {
	j := r.IntN(len(running))
	require.NoError(t, snapshot.Remove(running[j]))
	return slices.Concat(running[:j], running[j+1:])
}
