package drain

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/program"
)

// -steps and -time leave open where pods go, and the answer says of how many. The waves stay those of pods that find a node.
func TestBounds(t *testing.T) {
	args := slices.Concat([]string{"-f", shipped, "node-a1", "gpu-a1"}, all)
	_, out, _ := drain("", args...)
	require.NotContains(t, out, "left out")
	placed := func(p plan) (n int) {
		for _, w := range p.Waves {
			for _, e := range w.Evictions {
				if e.Replacement != "" {
					n++
				}
			}
		}
		return n
	}
	require.Greater(t, placed(planned(t, "", args...)), 1)
	type test struct {
		name, reason string
		flag, value  string
		placed       int
	}
	testkit.Run(t, []test{
		{"steps", "one place is looked for", "-steps", "1", 1},
		{"time", "it is over before the first", "-time", "1ns", 0},
	}, func(t *testing.T, c test) {
		limited := append(slices.Clone(args), c.flag, c.value)
		code, out, errs := drain("", limited...)
		require.Zero(t, code, errs)
		require.Regexp(t, `(?m)^[1-9][0-9]* pods left out by -steps or -time: where they go is not known, and they count as placed$`, out)
		require.Contains(t, out, "(left out by -steps or -time)")
		p := planned(t, "", limited...)
		require.Equal(t, c.placed, placed(p))
		require.Positive(t, p.Untried)
	})
	for _, wrong := range [][]string{{"-steps", "0"}, {"-time", "-1s"}} {
		code, _, errs := drain("", append(slices.Clone(args), wrong...)...)
		require.Equal(t, program.BadInput, code)
		require.Contains(t, errs, wrong[0]+": Invalid value: ")
	}
}
