package consolidation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/podberth/podberth/internal/testkit"
)

// What the search finds in random clusters, and in how many steps: testdata/work.txt changes when the search gets slower or finds
// something else.
func TestWork(t *testing.T) {
	var out strings.Builder
	write := func(name string, p *Plan) {
		fmt.Fprintf(&out, "%s: steps %d, from %d to %d, bound %d: %s\n", name, p.Steps, p.Before, p.After, p.Bound, strings.Join(lines(p), ", "))
	}
	for seed := range uint64(40) {
		write(fmt.Sprint("laws ", seed), random(testkit.NewBytes(testkit.RandomBytes(seed+5e6, 120))).plan(t, Options{Steps: 100, Seed: seed}))
		write(fmt.Sprint("cpu ", seed), drawBrute(rand.New(rand.NewPCG(seed, 29)), seed%2 == 1).w.plan(t, Options{Steps: 100, Seed: seed}))
	}
	for seed := range uint64(2) {
		write(fmt.Sprint("packed ", seed), pack(rand.New(rand.NewPCG(seed, 31)), 12).plan(t, Options{Steps: 100, Seed: seed}))
	}
	testkit.Golden(t, "testdata/work.txt", out.String())
}
