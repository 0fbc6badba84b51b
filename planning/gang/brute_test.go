package gang_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/planning/gang"
	"github.com/podberth/podberth/planning/gang/proof"
)

var (
	clusters = flag.Int("clusters", 100, "small clusters that are compared with brute force")
	seed     = flag.Uint64("seed", 1, "of the first cluster")
)

// What the search says about small clusters is what brute force says, every placement is one, and every proof is accepted.
func TestBruteForce(t *testing.T) {
	count := map[string]int{}
	for n := range *clusters {
		w := chance(testkit.NewBytes(testkit.RandomBytes(*seed+uint64(n), 400)))
		q := w.question(t)
		a, err := gang.Find(q, gang.Options{Steps: 2_000_000})
		require.NoError(t, err, "seed %d", *seed+uint64(n))
		exists := w.brute()
		count[string(a.Outcome)+kindsOf(a.Absence)]++
		if (a.Outcome == gang.Exists) != exists || a.Outcome == gang.Unknown {
			t.Fatalf("seed %d: %s, brute force says %t\n%s", *seed+uint64(n), a.Outcome, exists, w)
		}
		if exists {
			require.NoError(t, proof.CheckPlacement(q, a.Places), "seed %d\n%s", *seed+uint64(n), w)
		} else {
			require.NoError(t, proof.CheckAbsence(q, *a.Absence, proof.Bound{Steps: 5_000_000}), "seed %d\n%s", *seed+uint64(n), w)
		}
	}
	t.Log(count)
	require.Greater(t, count["exists"], *clusters/5)
}

// kindsOf shows what proofs an absence has.
func kindsOf(a *proof.Absence) (out string) {
	seen := map[string]bool{}
	var walk func(a *proof.Absence)
	note := func(text string) {
		if !seen[text] {
			seen[text] = true
			out += " " + text
		}
	}
	walk = func(a *proof.Absence) {
		for _, d := range a.Domains {
			switch {
			case d.Room != nil && d.Room.Of != nil:
				note(fmt.Sprint(d.Room.Kind, "+of"))
			case d.Room != nil:
				note(string(d.Room.Kind))
			case d.Exhausted:
				note("exhausted")
			}
			for k := range d.Children {
				note("children")
				walk(&d.Children[k])
			}
		}
	}
	if a != nil {
		walk(a)
	}
	return out
}
