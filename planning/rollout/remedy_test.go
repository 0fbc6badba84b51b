package rollout

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// Remedies end by steps and by the caller's wish. What was not tried is counted; the plan itself is whole.
func TestRemediesEnd(t *testing.T) {
	blocked := func() *Planner {
		w := five("cpu=4")
		w.app("web", "cpu=1", "n1 n2", nil)
		w.budget("web", "web", "2")
		return w.planner(t)
	}
	whole, err := blocked().Plan(Options{Remedies: 4})
	require.NoError(t, err)
	require.Zero(t, whole.Untried)
	require.Len(t, whole.Blocked, 1)
	require.Len(t, whole.Blocked[0].Remedies, 1, "the first holds")
	asked := 0
	type test struct {
		name, why         string
		options           Options
		remedies, untried int
	}
	testkit.Run(t, []test{
		{"enough steps", "the plan has five nodes", Options{Remedies: 4, Steps: 5}, 1, 0},
		{"too few steps", "a plan costs a step for each node", Options{Remedies: 4, Steps: 4}, 0, 2},
		{"at once", "the caller wants none", Options{Remedies: 4, End: func() bool { return true }}, 0, 2},
		{"in between", "a plan that is cut says nothing", Options{Remedies: 4, End: func() bool { asked++; return asked > 2 }}, 0, 2},
		{"no remedies", "nothing is left out", Options{End: func() bool { return true }}, 0, 0},
	}, func(t *testing.T, c test) {
		plan, err := blocked().Plan(c.options)
		require.NoError(t, err)
		require.Equal(t, c.untried, plan.Untried)
		require.Len(t, plan.Blocked[0].Remedies, c.remedies)
		require.Equal(t, whole.Steps, plan.Steps)
	})
}
