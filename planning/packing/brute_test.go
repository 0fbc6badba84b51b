package packing_test

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/packing"
)

var cases = flag.Int("cases", 300, "clusters of each kind that are compared with brute force")

// brute returns the best vector of placed pods over all assignments that are accepted, by requests and budgets.
func brute(w *world, tiers []packing.Tier, accept func(at map[string]string) bool) []int {
	all := slices.Concat(w.pods, w.pending)
	var best []int
	value := make([]int, len(tiers))
	left := map[string]int32{}
	for _, b := range w.budgets {
		left[b.Name] = b.Status.DisruptionsAllowed
	}
	type room struct{ cpu, memory int64 }
	free := make([]room, len(w.nodes))
	for i, n := range w.nodes {
		free[i] = room{n.Status.Allocatable.Cpu().MilliValue(), n.Status.Allocatable.Memory().Value()}
	}
	at := map[string]string{}
	var try func(k int)
	try = func(k int) {
		if k == len(all) {
			if slices.Compare(value, best) > 0 && accept(at) {
				best = slices.Clone(value)
			}
			return
		}
		p := all[k]
		r := p.Spec.Containers[0].Resources.Requests
		cpu, memory := r.Cpu().MilliValue(), r.Memory().Value()
		tier := slices.IndexFunc(tiers, func(t packing.Tier) bool { return t.Priority == podinfo.Priority(p) })
		app, budgeted := p.Labels["app"], false
		if _, ok := left[app]; ok && p.Spec.NodeName != "" {
			budgeted = true
		}
		for i := -1; i < len(w.nodes); i++ {
			away := budgeted && (i < 0 || w.nodes[i].Name != p.Spec.NodeName)
			if away && left[app] <= 0 || i >= 0 && (free[i].cpu < cpu || free[i].memory < memory) {
				continue
			}
			if away {
				left[app]--
			}
			at[p.Name] = ""
			if i >= 0 {
				at[p.Name] = w.nodes[i].Name
				value[tier]++
				free[i] = room{free[i].cpu - cpu, free[i].memory - memory}
			}
			try(k + 1)
			if i >= 0 {
				value[tier]--
				free[i] = room{free[i].cpu + cpu, free[i].memory + memory}
			}
			if away {
				left[app]++
			}
		}
	}
	try(0)
	return best
}

func vector(tiers []packing.Tier, of func(t packing.Tier) int) (out []int) {
	for _, t := range tiers {
		out = append(out, of(t))
	}
	return out
}

func placed(t packing.Tier) int { return t.Placed }

func bound(t packing.Tier) int { return t.Bound }

// The plan reaches the best vector over all assignments of small clusters, and the bound is never below it.
func TestBruteForce(t *testing.T) {
	proved := 0
	for seed := range uint64(testkit.Rounds(*cases)) {
		w := chance(testkit.NewBytes(testkit.RandomBytes(seed, 200)), 7, false)
		p := w.pack(t, packing.Options{Seed: seed, Steps: 3000})
		want := brute(w, p.Tiers, func(map[string]string) bool { return true })
		require.Equal(t, want, vector(p.Tiers, placed), "seed %d", seed)
		require.GreaterOrEqual(t, slices.Compare(vector(p.Tiers, bound), want), 0, "seed %d", seed)
		if p.Optimal {
			proved++
		}
	}
	require.Positive(t, proved)
}

// lawful holds what is true of every plan: the filters allow every action, the budgets hold, the numbers agree with the actions,
// kube-scheduler is not better unless it breaks a budget, and the bound is not below either.
func lawful(t *testing.T, w *world, o packing.Options) {
	t.Helper()
	p := w.pack(t, o)
	require.Equal(t, p, w.pack(t, o), "the same seed and steps")
	in := w.input(t)
	placer, err := placement.NewPlacer(in.Snapshot, placement.DefaultProfile())
	require.NoError(t, err)
	disrupted, value := map[string]int32{}, map[int32]int{}
	for _, q := range w.pods {
		value[podinfo.Priority(q)]++
	}
	for _, a := range p.Actions {
		if a.From != "" {
			k := slices.IndexFunc(w.pods, func(q *v1.Pod) bool { return podinfo.Name(q) == a.Pod })
			require.Equal(t, a.From, w.pods[k].Spec.NodeName)
			disrupted[w.pods[k].Labels["app"]]++
			value[a.Priority]--
			require.NoError(t, in.Snapshot.Remove(w.pods[k]))
		}
	}
	for _, b := range w.budgets {
		require.LessOrEqual(t, disrupted[b.Name], b.Status.DisruptionsAllowed)
	}
	for _, a := range p.Actions {
		if a.To == "" {
			continue
		}
		pod := *a.Placed
		pod.Status.NominatedNodeName = a.To
		d := placer.Decide(&pod, placement.Options{})
		require.Equal(t, a.To, d.Node, "the filters allow the actions in their order")
		require.NoError(t, placer.Assume(&pod, d))
		value[a.Priority]++
	}
	if p.LeaveIt {
		require.Empty(t, p.Actions)
		for _, x := range p.Tiers {
			value[x.Priority] = x.Default
		}
	}
	pending := 0
	for _, x := range p.Tiers {
		require.Equal(t, value[x.Priority], x.Placed)
		pending += x.Pods - x.Placed
	}
	require.Len(t, p.Pending, pending)
	theirs, bounds := vector(p.Tiers, func(t packing.Tier) int { return t.Default }), vector(p.Tiers, bound)
	if !p.DefaultBreaks {
		require.Equal(t, slices.Compare(vector(p.Tiers, placed), theirs) == 0, p.LeaveIt)
		require.GreaterOrEqual(t, slices.Compare(vector(p.Tiers, placed), theirs), 0)
	}
	require.GreaterOrEqual(t, slices.Compare(bounds, vector(p.Tiers, placed)), 0)
	require.GreaterOrEqual(t, slices.Compare(bounds, theirs), 0)
}

func TestLaws(t *testing.T) {
	for seed := range uint64(testkit.Rounds(*cases)) {
		for _, constrained := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/%t", seed, constrained), func(t *testing.T) {
				lawful(t, chance(testkit.NewBytes(testkit.RandomBytes(seed+1e6, 300)), 14, constrained), packing.Options{Seed: seed, Steps: 300})
			})
		}
	}
}

func FuzzPack(f *testing.F) {
	f.Add(testkit.RandomBytes(1, 200), true)
	f.Fuzz(func(t *testing.T, data []byte, constrained bool) {
		lawful(t, chance(testkit.NewBytes(data), 14, constrained), packing.Options{Steps: 300})
	})
}
