package reuse

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A question that chooses among equal totals is told how many there are, and gets the node that it chooses, as when each node is asked about.
func TestTied(t *testing.T) {
	kept, choices, levels := 0, 0, 0
	for seed := range uint64(300) {
		g := newGame(t, rand.New(rand.NewPCG(seed, 9)), calls{})
		for step := range 40 {
			at := fmt.Sprintf("seed %d step %d", seed, step)
			g.change(t)
			var asked []int
			q := g.question()
			q = Question{Pod: q.Pod, Order: q.Order, Without: q.Without, Tie: func(n int) int {
				asked = append(asked, n)
				return (7*step + 3) % n
			}}
			want, _, fails := g.plain(&q)
			nodes := len(asked)
			got, ok := ask(g.engine, &q)
			if ok {
				kept++
				choices += nodes
				require.Equal(t, want.Slot, got.Slot, at)
				require.Len(t, asked, 2*nodes, at)
				require.True(t, nodes == 0 || asked[0] == asked[1], "%s: %v", at, asked)
			}
			audit(t, g, at)
			for _, l := range g.engine.layouts {
				for _, x := range l.list {
					levels += min(len(x.tied), 1)
				}
			}
			if want.Slot >= 0 && !fails {
				q.Pod.Spec.NodeName = g.s.Node(want.Slot).Name
				require.NoError(t, g.s.Set(q.Pod))
				g.running = append(g.running, q.Pod)
			}
		}
	}
	require.Greater(t, kept, 300*20)
	require.Greater(t, choices, 300*8)
	require.Greater(t, levels, 300*8, "nodes of one score that were kept")
}
