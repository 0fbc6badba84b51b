package history_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/history"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/score"
)

// point reads a shape at a percentage as a table with every percentage would: between two points the score goes straight.
func point(shape []score.Point, percent, scale int) int {
	for i, p := range shape {
		switch at := int(p.Utilization); {
		case percent == at || percent < at && i == 0:
			return int(p.Score) * scale
		case percent < at:
			q := shape[i-1]
			return int(q.Score)*scale + int(p.Score-q.Score)*scale*(percent-int(q.Utilization))/(at-int(q.Utilization))
		}
	}
	return int(shape[len(shape)-1].Score) * scale
}

// The scores of random nodes are those of the rules, written plainly: a share is truncated, and so is the mean of old scores; the
// mean of a shape is rounded and leaves out zeros.
func FuzzScores(f *testing.F) {
	for seed := range uint64(testkit.Rounds(1000)) {
		f.Add(testkit.RandomBytes(seed, 60))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := rand.New(testkit.NewBytes(data))
		names := []string{"cpu", "memory", foo}
		var has, used, asks [3]int
		for k := range names {
			has[k], used[k], asks[k] = r.IntN(12), r.IntN(8), 1+r.IntN(6)
			if k < 2 {
				used[k]++ // a container without a request counts with an amount of its own
			}
		}
		text := func(n [3]int) string { return fmt.Sprintf("cpu=%d,memory=%dGi,%s=%d", n[0], n[1], foo, n[2]) }
		node := text(has)
		if has[2] == 0 && r.IntN(2) == 0 {
			node = fmt.Sprintf("cpu=%d,memory=%dGi", has[0], has[1])
		}
		rows := rowsOf(t, []string{node}, testkit.Pod("a").Request(text(used)).On("n0").Obj())
		pod := asking(text(asks))
		shape := []score.Point{{Utilization: int32(r.IntN(30)), Score: int32(r.IntN(11))}, {Utilization: int32(30 + r.IntN(30)), Score: int32(r.IntN(11))}, {Utilization: int32(60 + r.IntN(41)), Score: int32(r.IntN(11))}}
		var of []score.Resource
		for _, name := range names[:1+r.IntN(3)] {
			of = append(of, score.Resource{Name: name, Weight: int64(1 + r.IntN(4))})
		}
		for _, kind := range []string{score.LeastAllocated, score.MostAllocated, score.RequestedToCapacityRatio} {
			args := score.FitArgs{ScoringStrategy: &score.Strategy{Type: kind, Resources: of}}
			if kind == score.RequestedToCapacityRatio {
				args.ScoringStrategy.RequestedToCapacityRatio = &score.Ratio{Shape: shape}
			}
			var ten, share, tenWeights, shareWeights int
			for k, x := range of {
				all, weight := used[k]+asks[k], int(x.Weight)
				busy := 100
				if all <= has[k] {
					busy = 100 - (has[k]-all)*100/has[k]
				}
				n := 0
				switch {
				case kind == score.RequestedToCapacityRatio:
					n = point(shape, busy, 1)
				case all > has[k]:
				case kind == score.MostAllocated:
					n = all * 10 / has[k]
				default:
					n = (has[k] - all) * 10 / has[k]
				}
				if n > 0 || kind != score.RequestedToCapacityRatio {
					ten, tenWeights = ten+n*weight, tenWeights+weight
				}
				if n := point(shape, busy, 10); n > 0 && has[k] > 0 {
					share, shareWeights = share+n*weight, shareWeights+weight
				}
			}
			got, err := history.ZeroToTen(pod, args, rows)
			require.NoError(t, err)
			want := ten / max(tenWeights, 1)
			if kind == score.RequestedToCapacityRatio {
				want = int(math.Round(float64(ten) / float64(max(tenWeights, 1))))
				got, err := history.FreeShare(pod, args, rows)
				require.NoError(t, err)
				require.EqualValues(t, math.Round(float64(share)/float64(max(shareWeights, 1))), got.Raw(0), "%s of %s, %v %v", text(asks), node, of, shape)
			}
			require.EqualValues(t, want, got.Raw(0), "%s: %s of %s with %s, %v %v", kind, text(asks), node, text(used), of, shape)
		}
		least := 0
		for k := range 2 {
			if all := used[k] + asks[k]; has[k] > 0 && all <= has[k] {
				least += (has[k] - all) * 10 / has[k]
			}
		}
		at := slices.IndexFunc(history.Profile118(10).Scores, func(w placement.Weighted) bool { return w.Name == "NodeResourcesLeastAllocated" })
		s, err := history.Profile118(10).Scores[at].Plugin.Score(pod, rows)
		require.NoError(t, err)
		require.EqualValues(t, least/2, s.Raw(0), "%s of %s with %s", text(asks), node, text(used))
	})
}

// Each field of a constraint is dropped without its gate alone, and the pod itself is given back when none is.
func TestSpreadFieldsAlone(t *testing.T) {
	two, honor := int32(2), v1.NodeInclusionPolicyHonor
	fields := map[string]func(c *v1.TopologySpreadConstraint){
		"":                                       func(*v1.TopologySpreadConstraint) {},
		"MinDomainsInPodTopologySpread":          func(c *v1.TopologySpreadConstraint) { c.MinDomains = &two },
		"NodeInclusionPolicyInPodTopologySpread": func(c *v1.TopologySpreadConstraint) { c.NodeTaintsPolicy = &honor },
		"MatchLabelKeysInPodTopologySpread":      func(c *v1.TopologySpreadConstraint) { c.MatchLabelKeys = []string{"a"} },
	}
	for gate, set := range fields {
		for on := range maps.Keys(fields) {
			pod := testkit.Pod("web").Spread(1, "zone", v1.DoNotSchedule, "app=a").Obj()
			plain := *pod.Spec.TopologySpreadConstraints[0].DeepCopy()
			set(&pod.Spec.TopologySpreadConstraints[0])
			got := history.SpreadFields(pod, on)
			if gate == "" || on == gate {
				require.Same(t, pod, got, "%s with %s", gate, on)
			} else {
				require.Equal(t, plain, got.Spec.TopologySpreadConstraints[0], "%s with %s", gate, on)
			}
		}
	}
}

// The gate of the inclusion policies is that of each of the two.
func TestSpreadFieldsPolicies(t *testing.T) {
	honor := v1.NodeInclusionPolicyHonor
	pod := testkit.Pod("web").Spread(1, "zone", v1.DoNotSchedule, "app=a").Obj()
	pod.Spec.TopologySpreadConstraints[0].NodeAffinityPolicy = &honor
	require.Nil(t, history.SpreadFields(pod).Spec.TopologySpreadConstraints[0].NodeAffinityPolicy)
}

// v1.18 has the filters of today but for the two that came later, in their order.
func TestProfile118Filters(t *testing.T) {
	var want, got []string
	for _, p := range placement.DefaultProfile().Filters {
		if p.Name != "DynamicResources" && p.Name != "NodeDeclaredFeatures" {
			want = append(want, p.Name)
		}
	}
	for _, p := range history.Profile118(100).Filters {
		got = append(got, p.Name)
	}
	require.Equal(t, want, got)
}
