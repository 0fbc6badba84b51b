package consolidation

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// A plan of another planner is refused: the error names the pod that this planner does not know, or the pod that its node refuses.
func TestAfterAnotherPlan(t *testing.T) {
	w := five("cpu=4,memory=8Gi,pods=10")
	w.app("web", "cpu=3", "n1 n2", nil)
	p := w.planner(t)
	move := func(pod *v1.Pod) *Plan {
		return &Plan{Waves: [][]Move{{{Pod: pod, New: testkit.Pod("other/new").Obj(), From: "n1", To: "n2"}}}}
	}
	_, err := p.After(move(testkit.Pod("unknown").Obj()))
	require.EqualError(t, err, "consolidation: pod default/unknown: Not found: the plan is not of this planner")
	web := p.loads[0].old
	_, err = p.After(move(web))
	require.EqualError(t, err, "consolidation: pod default/"+web.Name+": node n2 refuses it: the plan is not of this planner")
}

// A removal tries each pod of the node once, while the pods leave the node one after the other.
func TestEachPodIsTried(t *testing.T) {
	w := five("cpu=8,memory=8Gi,pods=10")
	w.app("web", "cpu=1", "n1 n1 n1 n1", nil)
	x, err := w.planner(t).Removals(&Plan{})
	require.NoError(t, err)
	r, err := x.Try("n1", nil)
	require.NoError(t, err)
	tried := map[string]bool{}
	for _, one := range r.Trials {
		require.NotEmpty(t, one.To)
		tried[one.Pod.Name] = true
	}
	require.Len(t, r.Trials, 4)
	require.Len(t, tried, 4)
}

// Nodes whose pods find no place are left out of a copy of the choice, and the pods move in copies of the lists.
func TestChoiceStays(t *testing.T) {
	stuck := 0
	for seed := range uint64(40) {
		b := testkit.NewBytes(testkit.RandomBytes(seed+3e6, 300))
		p := random(b).planner(t)
		c := anyChoice(b, p)
		nodes, pods := slices.Clone(c.nodes), slices.Clone(p.pods)
		plan := p.order(c)
		require.Equal(t, nodes, c.nodes)
		require.Equal(t, pods, p.pods, "the pods that move are those of the run")
		if len(plan.Nodes) < len(nodes) {
			stuck++
		}
	}
	require.Greater(t, stuck, 10)
}
