package lint

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// The shortcut over pods that get nodes beside all others, and the terms that a placer remembers, change no finding: every workload tried
// alone by a fresh placer gives the same ones.
func TestTogetherFirst(t *testing.T) {
	short, placed, found := 0, 0, 0
	for seed := range uint64(testkit.Rounds(600)) {
		g := &generator{rand.New(rand.NewPCG(seed, 61))}
		draw := func() Input { return (&generator{rand.New(rand.NewPCG(seed, 62))}).input() }
		if g.oneIn(2) {
			draw = func() Input {
				w := random(testkit.NewBytes(testkit.RandomBytes(seed+5e6, 60)))
				more := random(testkit.NewBytes(testkit.RandomBytes(seed+6e6, 60))) // a second workload on the nodes of the first
				more.web.Name = "more"
				w.in.Deployments = append(w.in.Deployments, more.web)
				if seed%3 == 0 {
					w.job(*w.web.Spec.Replicas)
					w.in.Deployments = append(w.in.Deployments, more.web)
				}
				return w.in
			}
		}
		fast := &checker{in: draw()}
		got, err := check(fast)
		require.NoError(t, err)
		want, err := check(&checker{in: draw(), alone: true})
		require.NoError(t, err)
		require.Equal(t, want, got, "seed %d", seed)
		found += len(got)
		for _, w := range fast.works {
			if w.trial != nil && !w.trial.placed {
				placed++
			} else if w.trial != nil {
				short++
			}
		}
	}
	require.Greater(t, min(short, placed), testkit.Rounds(200), "the shortcut is taken, and not taken")
	require.Greater(t, found, testkit.Rounds(1500))
}
