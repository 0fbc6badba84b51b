package score

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/testkit"
)

// RawOf returns what Raw returns.
func TestRawOf(t *testing.T) {
	var nodes []*v1.Node
	var pods []*v1.Pod
	for i := range 20 {
		n := testkit.Node(fmt.Sprintf("n%d", i)).Capacity(fmt.Sprintf("cpu=%d,memory=%dGi,example.com/gpu=%d", i%5, i%7, i%3))
		nodes = append(nodes, n.Obj())
		pods = append(pods, testkit.Pod(fmt.Sprintf("p%d", i)).Request(fmt.Sprintf("cpu=%dm,memory=%dMi", 100*i, 50*i)).On(n.Obj().Name).Obj())
	}
	rows := testkit.NewCluster(nodes, pods).WithRows()
	pod := testkit.Pod("p").Request("cpu=300m,memory=256Mi,example.com/gpu=1").Obj()
	for _, resources := range [][]Resource{nil, {{"memory", 1}, {"example.com/gpu", 3}}} {
		for _, kind := range []string{LeastAllocated, MostAllocated} {
			a, err := CompileAllocation(pod, FitArgs{ScoringStrategy: &Strategy{Type: kind, Resources: resources}})
			require.NoError(t, err)
			s := a.On(rows)
			for i := range nodes {
				cpu, memory := rows.NonZero(i)
				require.Equal(t, s.Raw(i), s.(engine.Allocation).RawOf(i, rows.Allocatable(i), cpu, memory), "%s node %d", kind, i)
			}
		}
	}
	b, err := CompileBalance(pod, BalanceArgs{})
	require.NoError(t, err)
	s := b.On(rows)
	for i := range nodes {
		require.Equal(t, s.Raw(i), s.(engine.Balance).RawOf(i, rows.Allocatable(i), rows.Requested(i)), "node %d", i)
	}
}

func TestDefaultArgs(t *testing.T) {
	own := Strategy{Type: MostAllocated, Resources: []Resource{{"cpu", 0}, {"memory", 3}}}
	require.Equal(t, []Resource{{"cpu", 1}, {"memory", 3}}, defaultFitArgs(FitArgs{ScoringStrategy: &own}).ScoringStrategy.Resources)
	require.Equal(t, []Resource{{"cpu", 0}, {"memory", 3}}, own.Resources, "the argument is not modified")
	require.Equal(t, &Strategy{Type: LeastAllocated, Resources: []Resource{{"cpu", 1}, {"memory", 1}}}, defaultFitArgs(FitArgs{}).ScoringStrategy)
}
