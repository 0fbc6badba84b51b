package packing_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/planning/packing"
)

// What the search finds in random clusters, and in how many steps: testdata/work.txt changes when the search gets slower or finds
// something else.
func TestWork(t *testing.T) {
	var out strings.Builder
	write := func(name string, p packing.Plan) {
		fmt.Fprintf(&out, "%s: steps %d, refused %d, placed %v, bound %v, default %v %t:", name, p.Steps, p.Refused,
			vector(p.Tiers, placed), vector(p.Tiers, bound), vector(p.Tiers, func(t packing.Tier) int { return t.Default }), p.LeaveIt)
		for _, a := range p.Actions {
			fmt.Fprintf(&out, " %s %s>%s", strings.TrimPrefix(a.Pod, "default/"), a.From, a.To)
		}
		out.WriteByte('\n')
	}
	for seed := range uint64(80) {
		w := chance(testkit.NewBytes(testkit.RandomBytes(seed+2e6, 300)), 14, seed%2 == 1)
		write(fmt.Sprint(seed), w.pack(t, packing.Options{Seed: seed, Steps: 2000}))
	}
	for seed := range uint64(3) {
		write(fmt.Sprint("scenario ", seed), scenario{6, 4, 3, 105}.world(seed, seed == 2).pack(t, packing.Options{Seed: seed, Steps: 1000}))
	}
	testkit.Golden(t, "testdata/work.txt", out.String())
}
