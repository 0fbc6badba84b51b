package consolidation

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
)

// After a plan every node that stays is tried: where its pods would go, and why not.
func TestRemovals(t *testing.T) {
	w := five("cpu=4,memory=8Gi,pods=10")
	w.app("big", "cpu=3", "n1 n2", nil)
	w.app("web", "cpu=1", "n3", nil)
	w.pod("", "", "bare", "n4", template("bare", "cpu=1", nil))
	p := w.planner(t)
	plan, err := p.Plan(Options{Steps: -1})
	require.NoError(t, err)
	require.Len(t, plan.Nodes, 2, "n5 is empty, and the pod of n3 goes somewhere")
	x, err := p.Removals(plan)
	require.NoError(t, err)
	require.Len(t, x.Nodes(), 3)
	for range 2 { // a removal changes nothing
		bare, err := x.Try("n4", nil)
		require.NoError(t, err)
		require.Equal(t, "the pod has no controller", bare.Held)
		require.Equal(t, "bare", bare.Pod.Name)
		big, err := x.Try("n1", nil)
		require.NoError(t, err)
		require.NotNil(t, big.Stuck())
		require.Equal(t, "big", big.Stuck().Pod.Labels["app"])
		require.Contains(t, big.Stuck().Why, "nodes are available: ")
		big, err = x.Try("n1", func(plan *placement.Plan, c *cluster.Snapshot, pod *v1.Pod) string {
			require.Nil(t, c.Node(p.base.Slot("n1")), "the node is gone")
			require.Nil(t, c.Node(p.base.Slot("n5")), "so is the node that the plan empties")
			return pod.Name
		})
		require.NoError(t, err)
		require.Equal(t, big.Stuck().Pod.Name+"-again", big.Stuck().Why)
	}
	_, err = x.Try("n9", nil)
	require.EqualError(t, err, `consolidation: node "n9": Not found`)
	before, err := p.Removals(&Plan{})
	require.NoError(t, err)
	one, err := before.Try("n3", nil)
	require.NoError(t, err)
	require.Nil(t, one.Stuck())
	require.NotEmpty(t, one.Trials[0].To)
	_, err = p.Removals(&Plan{Nodes: []Emptied{{Node: "n9"}}})
	require.EqualError(t, err, `consolidation: node "n9": Not found: the plan is not of this planner`)
	_, err = p.Removals(&Plan{Waves: [][]Move{{{Pod: &v1.Pod{}}}}})
	require.ErrorContains(t, err, "the plan is not of this planner")
}
