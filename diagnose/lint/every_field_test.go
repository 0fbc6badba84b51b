package lint

import (
	"fmt"
	"hash"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// For each rule the number of findings about 800 inputs with every kind of manifest and every field that a rule reads, and a hash of
// what they say.
func TestEveryField(t *testing.T) {
	found, said := map[string]int{}, map[string]hash.Hash32{}
	for _, r := range Rules() {
		said[r.ID] = testkit.Hash32(t, r.ID)
	}
	for seed := range uint64(800) {
		g := &generator{rand.New(rand.NewPCG(seed, 28))}
		all, err := Check(g.input())
		require.NoError(t, err)
		for _, f := range all {
			found[f.Rule]++
			fmt.Fprintln(said[f.Rule], seed, testkit.HideHashes(fmt.Sprint(f)))
		}
	}
	var out strings.Builder
	for _, r := range Rules() {
		fmt.Fprintf(&out, "%s: %d, %08x\n", r.ID, found[r.ID], said[r.ID].Sum32())
	}
	testkit.Golden(t, "testdata/every_field.txt", out.String())
}
