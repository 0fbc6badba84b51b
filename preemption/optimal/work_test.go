package optimal_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/podberth/podberth/internal/testkit"
)

// What the search finds in random situations, and how much work it is: testdata/work.txt changes when a rule that saves work is lost.
// Of the situations only those in which the search branches have a line.
func TestWork(t *testing.T) {
	var out strings.Builder
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 23))
		s := chance(r, seed%2 == 1)
		with := search(t, draw(r))
		got := s.preempt(t, with.Options(s.options))
		if p := with.Proof(); got != nil && p.Steps > 8 {
			fmt.Fprintf(&out, "%d. nodes %d, excluded %d, steps %d, bound %v: %s\n", seed, p.Nodes, p.Excluded, p.Steps, p.Bound, shown(got))
		}
	}
	testkit.Golden(t, "testdata/work.txt", out.String())
}
