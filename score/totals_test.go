package score_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/score"
)

func TestTotals(t *testing.T) {
	type test struct {
		name      string
		why       string
		nodes     []string
		columns   []score.Column
		extenders []score.Column
		want      []int64
		err       string
	}
	testkit.Run(t, []test{
		{name: "neither plugins nor extenders", why: "every node 1", nodes: []string{"a", "b"}, want: []int64{1, 1}},
		{name: "every plugin skipped", why: "a skipped plugin contributes nothing", nodes: []string{"a", "b"}, columns: []score.Column{}, want: []int64{0, 0}},
		{name: "pod of 1 cpu and 1Gi on empty nodes", why: "n1 300 + 75 + 0 + 75, n2 300 + 81 + 0 + 71", nodes: []string{"n1", "n2"}, columns: []score.Column{
			{Plugin: "TaintToleration", Weight: 3, Scores: []int64{100, 100}},
			{Plugin: "NodeResourcesFit", Weight: 1, Scores: []int64{75, 81}},
			{Plugin: "DynamicResources", Weight: 2, Scores: []int64{0, 0}},
			{Plugin: "NodeResourcesBalancedAllocation", Weight: 1, Scores: []int64{75, 71}},
			{Plugin: "ImageLocality", Weight: 1, Scores: []int64{0, 0}},
		}, want: []int64{450, 452}},
		{name: "best effort pod", why: "300 + 96, balanced skipped", nodes: []string{"n1"}, columns: []score.Column{
			{Plugin: "TaintToleration", Weight: 3, Scores: []int64{100}},
			{Plugin: "NodeResourcesFit", Weight: 1, Scores: []int64{96}},
		}, want: []int64{396}},
		{name: "log totals 1000404 and 1000438", why: "10000*100, 93+86 and 97+86, image 5, spread and taints 100 each, the extender's 2 and 5 times 10",
			nodes: []string{"first", "second"}, columns: []score.Column{
				{Plugin: "NodeResourcesBalancedAllocation", Weight: 1, Scores: []int64{93, 97}},
				{Plugin: "ImageLocality", Weight: 1, Scores: []int64{5, 5}},
				{Plugin: "InterPodAffinity", Weight: 1, Scores: []int64{0, 0}},
				{Plugin: "NodeResourcesLeastAllocated", Weight: 1, Scores: []int64{86, 86}},
				{Plugin: "NodeAffinity", Weight: 1, Scores: []int64{0, 0}},
				{Plugin: "NodePreferAvoidPods", Weight: 10000, Scores: []int64{100, 100}},
				{Plugin: "DefaultPodTopologySpread", Weight: 1, Scores: []int64{100, 100}},
				{Plugin: "TaintToleration", Weight: 1, Scores: []int64{100, 100}},
			}, extenders: []score.Column{{Plugin: "http://192.168.60.89", Weight: 1, Hosts: []string{"first", "second"}, Scores: []int64{2, 5}}},
			want: []int64{1000404, 1000438}},
		{name: "negative weight", why: "the order is reversed", nodes: []string{"a", "b"}, columns: []score.Column{{Plugin: "P", Weight: -2, Scores: []int64{10, 90}}}, want: []int64{-20, -180}},
		{name: "above the range", why: "v1.36 checks the range after normalization", nodes: []string{"a", "b"}, columns: []score.Column{{Plugin: "Q", Weight: 1, Scores: []int64{100, 0}}, {Plugin: "P", Weight: 1, Scores: []int64{0, 101}}},
			err: `applying score defaultWeights on Score plugins: plugin "P" returns an invalid score 101, it should in the range of [0, 100] after normalizing`},
		{name: "below the range", why: "first by node, then by plugin", nodes: []string{"a", "b"}, columns: []score.Column{{Plugin: "Q", Weight: 1, Scores: []int64{0, 200}}, {Plugin: "P", Weight: 1, Scores: []int64{-1, 0}}},
			err: `applying score defaultWeights on Score plugins: plugin "P" returns an invalid score -1, it should in the range of [0, 100] after normalizing`},
		{name: "below the range behind a short column", why: "the short column has no such row", nodes: []string{"a", "b"}, columns: []score.Column{{Plugin: "Q", Weight: 1, Scores: []int64{0}}, {Plugin: "P", Weight: 1, Scores: []int64{0, -1}}},
			err: `applying score defaultWeights on Score plugins: plugin "P" returns an invalid score -1, it should in the range of [0, 100] after normalizing`},
		{name: "extenders are not checked", why: "1000 and -5 times 10, a host twice, an infeasible one", nodes: []string{"a", "b", "c"}, extenders: []score.Column{
			{Plugin: "x", Weight: 1, Hosts: []string{"a", "b", "z"}, Scores: []int64{1000, -5, 10}},
			{Plugin: "y", Weight: 3, Hosts: []string{"c", "c"}, Scores: []int64{2, 1}},
			{Plugin: "filter only", Weight: 0},
		}, want: []int64{10000, -50, 90}},
		{name: "overflow saturates", why: "upstream wraps", nodes: []string{"a"}, extenders: []score.Column{{Weight: 2, Hosts: []string{"a"}, Scores: []int64{math.MaxInt64}}}, want: []int64{math.MaxInt64}},
		{name: "no nodes", why: "there is nothing to add up", nodes: nil, want: []int64{}},
	}, func(t *testing.T, tc test) {
		got, err := score.Totals(tc.nodes, tc.columns, tc.extenders)
		if tc.err != "" {
			require.EqualError(t, err, tc.err)
			return
		}
		require.NoError(t, err)
		require.Equal(t, tc.want, got)
	})
}

// The scores behind the worked totals are computed here.
func TestWorkedTotals(t *testing.T) {
	r := newRows(node("n1", "cpu=4,memory=4Gi"), node("n2", "cpu=8,memory=4Gi"))
	p := pod("cpu=1,memory=1Gi")
	require.Equal(t, []int64{75, 81}, raws(2, fit(t, p, score.Strategy{Type: score.LeastAllocated}, r).Raw))
	require.Equal(t, []int64{75, 71}, raws(2, balance(t, p, score.BalanceArgs{}, r).Raw))
	require.Equal(t, []int64{96, 96}, raws(2, fit(t, pod(""), score.Strategy{Type: score.LeastAllocated}, r).Raw))
}

// Weights 1 and 2 and their doubles choose the same node, and so does the other order of the nodes.
func TestDoubledWeights(t *testing.T) {
	choice := func(nodes []string, weight int64, fit, spread []int64) (string, []int64) {
		totals, err := score.Totals(nodes, []score.Column{{Plugin: "NodeResourcesFit", Weight: weight, Scores: fit}, {Plugin: "PodTopologySpread", Weight: 2 * weight, Scores: spread}}, nil)
		require.NoError(t, err)
		return nodes[score.Best(totals, lowestName(nodes))], totals
	}
	for _, c := range []struct {
		nodes       []string
		weight      int64
		fit, spread []int64
		totals      []int64
	}{
		{[]string{"a", "b", "c"}, 1, []int64{90, 10, 30}, []int64{0, 50, 30}, []int64{90, 110, 90}},
		{[]string{"a", "b", "c"}, 2, []int64{90, 10, 30}, []int64{0, 50, 30}, []int64{180, 220, 180}},
		{[]string{"c", "b", "a"}, 1, []int64{30, 10, 90}, []int64{30, 50, 0}, []int64{90, 110, 90}},
	} {
		node, totals := choice(c.nodes, c.weight, c.fit, c.spread)
		require.Equal(t, "b", node)
		require.Equal(t, c.totals, totals)
	}
	for _, nodes := range [][]string{{"a", "c"}, {"c", "a"}} {
		node, _ := choice(nodes, 1, []int64{5, 5}, []int64{5, 5})
		require.Equal(t, "a", node, "a tie ends by the name, not by the order")
	}
}
