package plugins

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/score"
)

// Rules C1.7 and C1.12.
func TestWeights(t *testing.T) {
	type weight struct {
		name string
		n    int64
	}
	const most, least = math.MaxInt64 / score.MaxScore, math.MinInt64 / score.MaxScore
	type test struct {
		name, why  string
		own, multi []weight
		want       map[string]int64 // nil: refused
	}
	testkit.Run(t, []test{
		{"nothing", "no plugin, no weight", nil, nil, map[string]int64{}},
		{"own list first", "the point's own entry counts, also its first one", []weight{{"a", 2}, {"a", 3}}, []weight{{"a", 5}, {"b", 7}}, map[string]int64{"a": 2, "b": 7}},
		{"weight 0", "it means 1", []weight{{"a", 0}}, []weight{{"b", 0}}, map[string]int64{"a": 1, "b": 1}},
		{"not of this point", "the plugin has no score", nil, []weight{{"other", 5}, {"a", 2}}, map[string]int64{"a": 2}},
		{"largest weight", "100 times the weight fits", []weight{{"a", most}}, nil, map[string]int64{"a": most}},
		{"larger", "100 times the weight does not fit", []weight{{"a", most + 1}}, nil, nil},
		{"largest sum", "the sum counts", []weight{{"a", most - 1}}, []weight{{"b", 1}}, map[string]int64{"a": most - 1, "b": 1}},
		{"larger sum", "one more than fits", []weight{{"a", most - 1}}, []weight{{"b", 2}}, nil},
		{"not of this point, huge", "a plugin without score cannot overflow", nil, []weight{{"other", math.MaxInt64}}, map[string]int64{}},
		{"smallest weight", "100 times the weight fits", []weight{{"a", least}}, nil, map[string]int64{"a": least}},
		{"smaller", "100 times the weight does not fit", []weight{{"a", least - 1}}, nil, nil},
		{"sum of 0", "only sums below 0 are refused", []weight{{"a", 1}, {"b", -1}}, []weight{{"c", 1}}, map[string]int64{"a": 1, "b": -1, "c": 1}},
		{"negative sum at the end", "the last weight may be negative", []weight{{"a", 1}, {"b", -2}}, nil, map[string]int64{"a": 1, "b": -2}},
		{"negative sum before the end", "kube-scheduler refuses it", []weight{{"a", 1}, {"b", -2}, {"c", 9}}, nil, nil},
		{"negative sum before the smallest weight", "kube-scheduler refuses it, whatever the weight", []weight{{"a", -1}, {"b", least}}, nil, nil},
	}, func(t *testing.T, c test) {
		got, err := Weights(c.own, c.multi, func(w weight) (string, int64) { return w.name, w.n }, func(name string) bool { return name != "other" })
		if c.want == nil {
			require.EqualError(t, err, "total score of Score plugins could overflow")
			return
		}
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	})
}

// The default profile: names with their weights, in order, and what other releases have instead (rules L2.1 to L2.3).
func TestDefaultWeights(t *testing.T) {
	list := func(v release.Version) string {
		var out []string
		for _, p := range Default(v) {
			if p.Weight != 0 {
				out = append(out, p.Name+string(rune('0'+p.Weight)))
			}
		}
		return strings.Join(out, " ")
	}
	const before = "TaintToleration3 NodeAffinity2 NodeResourcesFit1 PodTopologySpread2 InterPodAffinity2"
	const after = " NodeResourcesBalancedAllocation1 ImageLocality1"
	require.Equal(t, before+after, list(release.V1_34), "L2.3: devices have no score")
	for _, v := range []release.Version{release.V1_35, release.V1_36, release.V1_37} {
		require.Equal(t, before+" DynamicResources2"+after, list(v), v)
	}
	for _, v := range release.Versions() {
		all := Default(v)
		byName := map[string]Plugin{}
		for _, p := range all {
			byName[p.Name] = p
		}
		_, declared := byName[NodeDeclaredFeatures]
		require.Equal(t, v.AtLeast(release.V1_36), declared, "L2.2 in %s", v)
		dynamic := byName[DynamicResources]
		require.Equal(t, v.AtLeast(release.V1_35), dynamic.At("Score"), "L2.3 in %s", v)
		require.True(t, dynamic.At("Filter") && dynamic.At("PreBind"), "the other points stay in %s", v)
		nameFirst := all[2].Name == NodeName && all[3].Name == NodeUnschedulable
		cordonFirst := all[2].Name == NodeUnschedulable && all[3].Name == NodeName
		require.Equal(t, []bool{v.AtLeast(release.V1_37), !v.AtLeast(release.V1_37)}, []bool{nameFirst, cordonFirst}, "L2.1 in %s", v)
	}
	for _, p := range InTree()[20:] {
		require.Zero(t, p.Weight, p.Name)
	}
}
