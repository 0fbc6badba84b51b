package consolidation

import (
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// FuzzCover compares the cost of the nodes that cover a demand with that of plainCover, for small and for very large numbers.
func FuzzCover(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(testkit.RandomBytes(seed, 120))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		number := func() int64 {
			n := int64(b.Below(9))
			if b.OneIn(2) {
				return n
			}
			return n << b.Below(55)
		}
		p := &Planner{nodes: make([]node, b.Below(7))}
		offers, may := make([]resources.Vector, len(p.nodes)), make([]bool, len(p.nodes))
		sum := int64(0)
		for i := range p.nodes {
			offers[i], may[i] = resources.Vector{number()}, b.OneIn(2)
			sum += offers[i][0]
			if b.OneIn(7) {
				continue // a free slot
			}
			p.nodes[i] = node{object: &v1.Node{}, price: number()}
			if b.OneIn(4) {
				p.nodes[i].held = "held"
			}
		}
		if b.OneIn(2) {
			may = nil
		}
		demand := testkit.Pick(b, number(), sum, sum/2, sum-sum/7, sum-1, sum+1)
		got := (&bounder{Planner: p, schema: 1}).coverColumn(0, demand, offers, may)
		require.Equal(t, plainCover(p.nodes, demand, offers, may), got)
	})
}

// plainCover fills the demand from one node after the other, the cheapest for its offer first, and counts with fractions.
func plainCover(nodes []node, demand int64, offers []resources.Vector, may []bool) int64 {
	held := int64(0)
	var open []int
	for i, n := range nodes {
		switch {
		case n.object == nil:
		case n.held != "":
			demand -= offers[i][0]
			if may == nil || may[i] {
				held += n.price
			}
		case offers[i][0] > 0:
			open = append(open, i)
		}
	}
	ratio := func(i int) *big.Rat { return big.NewRat(nodes[i].price, offers[i][0]) }
	slices.SortFunc(open, func(a, b int) int { return ratio(a).Cmp(ratio(b)) })
	cost, left := new(big.Rat), demand
	for _, i := range open {
		if left > 0 {
			used := min(left, offers[i][0])
			left -= used
			cost.Add(cost, new(big.Rat).Mul(ratio(i), big.NewRat(used, 1)))
		}
	}
	whole, rest := new(big.Int).QuoRem(cost.Num(), cost.Denom(), new(big.Int))
	parts := held + whole.Int64() + int64(rest.Sign())

	count, prices := held, []int64{}
	for _, i := range open {
		prices = append(prices, nodes[i].price)
	}
	slices.Sort(prices)
	slices.SortFunc(open, func(a, b int) int { return int(max(-1, min(1, offers[b][0]-offers[a][0]))) })
	for k, i := range open {
		if demand > 0 {
			demand -= offers[i][0]
			count += prices[k]
		}
	}
	return max(parts, count)
}
