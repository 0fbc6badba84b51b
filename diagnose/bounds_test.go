package diagnose

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// A node stays ahead with the weights that a trial of every weight from 1 to 300 finds.
func TestBounds(t *testing.T) {
	ahead, never, ends := 0, 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 7))
		var o cluster.Objects
		var table []placement.NodeReport
		for i := range 2 + r.IntN(3) {
			n := testkit.Node(fmt.Sprint("n", i)).Obj()
			o.Nodes = append(o.Nodes, n)
			row := placement.NodeReport{Node: n.Name}
			for k := range 3 {
				s := placement.NodeScore{Normalized: int64(r.IntN(6)), Weight: int64(1 + k)}
				row.Total += s.Normalized * s.Weight
				row.Scores = append(row.Scores, s)
			}
			if i > 0 && r.IntN(5) == 0 {
				row.Rejections = []placement.Rejection{{Plugin: "x"}}
			}
			table = append(table, row)
		}
		s, err := cluster.New(o)
		require.NoError(t, err)
		d, err := begin(Input{Snapshot: s}, testkit.Pod("web").Obj(), Options{})
		require.NoError(t, err)
		at, k := r.IntN(len(table)), r.IntN(3)
		table[at].Rejections = nil
		wins := func(weight int64) bool {
			total := func(n *placement.NodeReport) int64 {
				return n.Total + (weight-n.Scores[k].Weight)*n.Scores[k].Normalized
			}
			mine := total(&table[at])
			for i := range table {
				first := d.rank[s.Slot(table[i].Node)] < d.rank[s.Slot(table[at].Node)]
				if theirs := total(&table[i]); i != at && table[i].Feasible() && (theirs > mine || theirs == mine && first) {
					return false
				}
			}
			return true
		}
		least, most := d.bounds(table, &table[at], k)
		any := false
		for w := int64(1); w <= 300; w++ {
			in := w >= least && w <= most
			require.Equal(t, wins(w), in, "seed %d: weight %d is in %d to %d", seed, w, least, most)
			any = any || in
		}
		switch {
		case !any:
			require.Less(t, most, least)
			never++
		case most == math.MaxInt64:
			ahead++
		default:
			ends++
		}
	}
	require.Greater(t, min(ahead, never, ends), 200)
}
