package score_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/score"
)

func TestProportional(t *testing.T) {
	for _, tc := range []struct {
		name string
		p    score.Proportional
		in   []int64
		want []int64
	}{
		{"one to four", score.Proportional{}, []int64{1, 2, 3, 4}, []int64{25, 50, 75, 100}},
		{"one to four reversed", score.Proportional{Reverse: true}, []int64{1, 2, 3, 4}, []int64{75, 50, 25, 0}},
		{"zeros", score.Proportional{}, []int64{0, 0}, []int64{0, 0}},
		{"zeros reversed", score.Proportional{Reverse: true}, []int64{0, 0}, []int64{100, 100}},
		{"thirds", score.Proportional{}, []int64{1, 3}, []int64{33, 100}},
		{"thirds reversed", score.Proportional{Reverse: true}, []int64{1, 3}, []int64{67, 0}},
		{"negative stays", score.Proportional{}, []int64{-5, -1}, []int64{-5, -1}},
		{"negative beside positive", score.Proportional{}, []int64{-5, 10}, []int64{-50, 100}},
		{"negative reversed", score.Proportional{Reverse: true}, []int64{-5, -1}, []int64{100, 100}},
		{"to ten", score.Proportional{Max: 10}, []int64{1, 2, 4}, []int64{2, 5, 10}},
		{"huge", score.Proportional{}, []int64{math.MaxInt64 / 2, math.MaxInt64}, []int64{49, 100}},
		{"huge negative saturates", score.Proportional{}, []int64{math.MinInt64, 1}, []int64{math.MinInt64, 100}},
		{"empty", score.Proportional{}, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := append([]int64(nil), tc.in...)
			lo, hi := score.Range(tc.in)
			for i, raw := range tc.in {
				require.Equal(t, tc.want[i], tc.p.Normalize(raw, lo, hi), "scalar form")
			}
			tc.p.NormalizeAll(got)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestTotals(t *testing.T) {
	for _, tc := range []struct {
		name      string
		reason    string
		nodes     []string
		columns   []score.Column
		extenders []score.ExtenderScores
		want      []int64
		err       string
	}{
		{name: "neither plugins nor extenders", reason: "every node 1", nodes: []string{"a", "b"}, want: []int64{1, 1}},
		{name: "every plugin skipped", reason: "a skipped plugin contributes nothing", nodes: []string{"a", "b"}, columns: []score.Column{}, want: []int64{0, 0}},
		{name: "pod of 1 cpu and 1Gi on empty nodes", reason: "n1 300 + 75 + 0 + 75, n2 300 + 81 + 0 + 71", nodes: []string{"n1", "n2"}, columns: []score.Column{
			{Plugin: "TaintToleration", Weight: 3, Scores: []int64{100, 100}},
			{Plugin: "NodeResourcesFit", Weight: 1, Scores: []int64{75, 81}},
			{Plugin: "DynamicResources", Weight: 2, Scores: []int64{0, 0}},
			{Plugin: "NodeResourcesBalancedAllocation", Weight: 1, Scores: []int64{75, 71}},
			{Plugin: "ImageLocality", Weight: 1, Scores: []int64{0, 0}},
		}, want: []int64{450, 452}},
		{name: "best effort pod", reason: "300 + 96, balanced skipped", nodes: []string{"n1"}, columns: []score.Column{
			{Plugin: "TaintToleration", Weight: 3, Scores: []int64{100}},
			{Plugin: "NodeResourcesFit", Weight: 1, Scores: []int64{96}},
		}, want: []int64{396}},
		{name: "log totals 1000404 and 1000438", reason: "10000*100, 93+86 and 97+86, image 5, spread and taints 100 each, the extender's 2 and 5 times 10",
			nodes: []string{"first", "second"}, columns: []score.Column{
				{Plugin: "NodeResourcesBalancedAllocation", Weight: 1, Scores: []int64{93, 97}},
				{Plugin: "ImageLocality", Weight: 1, Scores: []int64{5, 5}},
				{Plugin: "InterPodAffinity", Weight: 1, Scores: []int64{0, 0}},
				{Plugin: "NodeResourcesLeastAllocated", Weight: 1, Scores: []int64{86, 86}},
				{Plugin: "NodeAffinity", Weight: 1, Scores: []int64{0, 0}},
				{Plugin: "NodePreferAvoidPods", Weight: 10000, Scores: []int64{100, 100}},
				{Plugin: "DefaultPodTopologySpread", Weight: 1, Scores: []int64{100, 100}},
				{Plugin: "TaintToleration", Weight: 1, Scores: []int64{100, 100}},
			}, extenders: []score.ExtenderScores{{Name: "http://192.168.60.89", Weight: 1, Scores: []score.HostScore{{Host: "first", Score: 2}, {Host: "second", Score: 5}}}},
			want: []int64{1000404, 1000438}},
		{name: "negative weight", reason: "the order is reversed", nodes: []string{"a", "b"}, columns: []score.Column{{Plugin: "P", Weight: -2, Scores: []int64{10, 90}}}, want: []int64{-20, -180}},
		{name: "above the range", nodes: []string{"a", "b"}, columns: []score.Column{{Plugin: "Q", Weight: 1, Scores: []int64{100, 0}}, {Plugin: "P", Weight: 1, Scores: []int64{0, 101}}},
			err: `applying score defaultWeights on Score plugins: plugin "P" returns an invalid score 101, it should in the range of [0, 100] after normalizing`},
		{name: "below the range", reason: "first by node, then by plugin", nodes: []string{"a", "b"}, columns: []score.Column{{Plugin: "Q", Weight: 1, Scores: []int64{0, 200}}, {Plugin: "P", Weight: 1, Scores: []int64{-1, 0}}},
			err: `applying score defaultWeights on Score plugins: plugin "P" returns an invalid score -1, it should in the range of [0, 100] after normalizing`},
		{name: "extenders are not checked", reason: "1000 and -5 times 10, a host twice, an infeasible one", nodes: []string{"a", "b", "c"}, extenders: []score.ExtenderScores{
			{Name: "x", Weight: 1, Scores: []score.HostScore{{Host: "a", Score: 1000}, {Host: "b", Score: -5}, {Host: "z", Score: 10}}},
			{Name: "y", Weight: 3, Scores: []score.HostScore{{Host: "c", Score: 2}, {Host: "c", Score: 1}}},
			{Name: "filter only", Weight: 0},
		}, want: []int64{10000, -50, 90}},
		{name: "overflow saturates", reason: "upstream wraps", nodes: []string{"a"}, extenders: []score.ExtenderScores{{Weight: 2, Scores: []score.HostScore{{Host: "a", Score: math.MaxInt64}}}}, want: []int64{math.MaxInt64}},
		{name: "no nodes", nodes: nil, want: []int64{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := score.Totals(tc.nodes, tc.columns, tc.extenders)
			if tc.err != "" {
				require.EqualError(t, err, tc.err)
				var ranged *score.RangeError
				require.ErrorAs(t, err, &ranged)
				require.Equal(t, "P", ranged.Plugin)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, got, tc.reason)
		})
	}
}

// The scores behind the worked totals, computed.
func TestWorkedTotals(t *testing.T) {
	r := newRows(node("n1", "cpu=4,memory=4Gi"), node("n2", "cpu=8,memory=4Gi"))
	p := pod("cpu=1,memory=1Gi")
	require.Equal(t, []int64{75, 81}, raws(2, fit(t, p, score.Strategy{Type: score.LeastAllocated}, score.Options{}, r).Raw))
	require.Equal(t, []int64{75, 71}, raws(2, balance(t, p, score.BalanceArgs{}, score.Options{}, r).Raw))
	require.Equal(t, []int64{96, 96}, raws(2, fit(t, pod(""), score.Strategy{Type: score.LeastAllocated}, score.Options{}, r).Raw))
}

func TestResolve(t *testing.T) {
	type set = score.PluginSet
	p := func(name string, weight int64) score.Plugin { return score.Plugin{Name: name, Weight: weight} }
	multi := set{Enabled: score.DefaultPlugins()}
	rest := func(names ...string) []score.Plugin {
		var list []score.Plugin
		for _, d := range score.DefaultPlugins() {
			keep := true
			for _, n := range names {
				keep = keep && d.Name != n
			}
			if keep {
				list = append(list, d)
			}
		}
		return list
	}
	for _, tc := range []struct {
		name   string
		reason string
		score  set
		multi  set
		scores func(string) bool
		want   []score.Plugin
		err    string
	}{
		{name: "defaults", multi: multi, want: score.DefaultPlugins()},
		{name: "listed again without weight", reason: "TaintToleration counts 100, not 300", score: set{Enabled: []score.Plugin{p("TaintToleration", 0)}}, multi: multi,
			want: append([]score.Plugin{p("TaintToleration", 1)}, rest("TaintToleration")...)},
		{name: "listed again with weight", reason: "moved to the front", score: set{Enabled: []score.Plugin{p("ImageLocality", 0), p("NodeResourcesFit", 7)}}, multi: multi,
			want: append([]score.Plugin{p("ImageLocality", 1), p("NodeResourcesFit", 7)}, rest("ImageLocality", "NodeResourcesFit")...)},
		{name: "a custom plugin goes last", score: set{Enabled: []score.Plugin{p("Foo", 4), p("ImageLocality", 2)}}, multi: multi,
			want: append(append([]score.Plugin{p("ImageLocality", 2)}, rest("ImageLocality")...), p("Foo", 4))},
		{name: "disabled", score: set{Disabled: []string{"NodeAffinity", "Unknown"}}, multi: multi, want: rest("NodeAffinity")},
		{name: "all disabled", reason: "the point's own list in its order", score: set{Enabled: []score.Plugin{p("Foo", 4), p("ImageLocality", 0)}, Disabled: []string{"*"}}, multi: multi,
			want: []score.Plugin{p("Foo", 4), p("ImageLocality", 1)}},
		{name: "disabled and enabled", reason: "it left multiPoint, so that it comes behind", score: set{Enabled: []score.Plugin{p("NodeAffinity", 5)}, Disabled: []string{"NodeAffinity"}}, multi: multi,
			want: append(rest("NodeAffinity"), p("NodeAffinity", 5))},
		{name: "plugins that do not score", multi: set{Enabled: []score.Plugin{p("NodeName", 0), p("NodeAffinity", 2)}}, scores: func(n string) bool { return n != "NodeName" },
			want: []score.Plugin{p("NodeAffinity", 2)}},
		{name: "negative weights pass", multi: set{Enabled: []score.Plugin{p("NodeAffinity", -2)}}, want: []score.Plugin{p("NodeAffinity", -2)}},
		{name: "twice in multiPoint", multi: set{Enabled: []score.Plugin{p("P", 1), p("P", 2)}}, err: `plugin "P" already registered as "ScorePlugin"`},
		{name: "twice in score", score: set{Enabled: []score.Plugin{p("P", 1), p("P", 2)}}, err: `plugin "P" already registered as "ScorePlugin"`},
		{name: "overflow", multi: set{Enabled: []score.Plugin{p("P", math.MaxInt64/100), p("Q", 1)}}, err: "total score of Score plugins could overflow"},
		{name: "just no overflow", multi: set{Enabled: []score.Plugin{p("P", math.MaxInt64/100)}}, want: []score.Plugin{p("P", math.MaxInt64/100)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := score.Resolve(tc.score, tc.multi, tc.scores)
			if tc.err != "" {
				require.EqualError(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, got, tc.reason)
		})
	}
}

func TestDefaultPlugins(t *testing.T) {
	weights := func(list []score.Plugin) map[string]int64 {
		m := map[string]int64{}
		for _, p := range list {
			m[p.Name] = p.Weight
		}
		return m
	}
	require.Equal(t, map[string]int64{"TaintToleration": 3, "NodeAffinity": 2, "NodeResourcesFit": 1, "VolumeBinding": 1, "PodTopologySpread": 2, "InterPodAffinity": 2,
		"DynamicResources": 2, "NodeResourcesBalancedAllocation": 1, "ImageLocality": 1}, weights(score.DefaultPlugins()))
	require.Equal(t, map[string]int64{"NodeResourcesBalancedAllocation": 1, "ImageLocality": 1, "InterPodAffinity": 1, "NodeResourcesLeastAllocated": 1, "NodeAffinity": 1,
		"NodePreferAvoidPods": 10000, "DefaultPodTopologySpread": 1, "TaintToleration": 1}, weights(score.DefaultPlugins118()))
	require.Empty(t, score.ValidatePlugins(score.DefaultPlugins(), field.NewPath("score")))
	require.Empty(t, score.ValidatePlugins([]score.Plugin{{Name: "P"}}, field.NewPath("score")), "weight 0 stands for 1")
	require.EqualError(t, score.ValidatePlugins([]score.Plugin{{Name: "P", Weight: 1}, {Name: "Q", Weight: -3}}, field.NewPath("score", "enabled")).ToAggregate(),
		"score.enabled[1].weight: Invalid value: -3: must not be negative: the preference of Q would be reversed")
}
