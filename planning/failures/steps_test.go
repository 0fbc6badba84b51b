package failures

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Steps and Stop leave scenarios out; the others are played as always.
func TestSteps(t *testing.T) {
	w := five("cpu=2")
	w.app("web", "cpu=2", "n1 n2 n3 n4 n5", nil)
	p := w.planner(t)
	testkit.Run(t, []struct {
		name, why string
		o         Options
		want      []string
	}{
		{"default", "five nodes are fewer than the default", Options{}, []string{"n1", "n2", "n3", "n4", "n5"}},
		{"two steps", "the first two are played", Options{Steps: 2}, []string{"n1", "n2"}},
		{"orders", "each scenario has three orders, and costs three steps", Options{Steps: 6, Orders: 2}, []string{"n1", "n2"}},
		{"orders over the limit", "one scenario is always played", Options{Steps: 6, Orders: 9}, []string{"n1"}},
		{"less than none", "the default", Options{Steps: -1}, []string{"n1", "n2", "n3", "n4", "n5"}},
		{"stopped at once", "Stop is asked before each", Options{Stop: func() bool { return true }}, nil},
		{"stopped later", "the third scenario is not played", Options{Stop: after(2)}, []string{"n1", "n2"}},
		{"stopped in parallel", "scenarios that others play are kept, in their order", Options{Stop: after(3), Parallel: func(n int, run func(int)) {
			for i := range n {
				run(n - 1 - i)
			}
		}}, []string{"n3", "n4", "n5"}},
	}, func(t *testing.T, c struct {
		name, why string
		o         Options
		want      []string
	}) {
		results, err := p.Run(p.Nodes(), c.o)
		require.NoError(t, err)
		var played []string
		for _, r := range results {
			played = append(played, r.Name)
			require.Equal(t, 1, r.Stays())
		}
		require.Equal(t, c.want, played)
	})
}

// Remedies that Stop leaves out are counted, also the one under way.
func TestUntriedRemedies(t *testing.T) {
	w := five("cpu=2")
	w.objects.Nodes[4].Status.Allocatable[v1.ResourceCPU] = testkit.Resources("cpu=1")[v1.ResourceCPU]
	w.app("web", "cpu=2", "n1 n2 n3 n4", nil)
	p := w.planner(t)
	all, err := p.Headroom(Search{Remedies: 9})
	require.NoError(t, err)
	require.Len(t, all.Remedies, 4)
	require.Zero(t, all.Untried)
	for asks := 6; ; asks++ { // before the five nodes, and once before them all
		h, err := p.Headroom(Search{Remedies: 9, Stop: after(asks)})
		require.NoError(t, err)
		require.Equal(t, all.Remedies[:len(h.Remedies)], append([]Remedy{}, h.Remedies...))
		require.Equal(t, len(all.Remedies), len(h.Remedies)+h.Untried)
		require.Equal(t, h.Untried > 0, h.Limited)
		if h.Untried == 0 {
			break
		}
	}
}
