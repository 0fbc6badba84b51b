package packing_test

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/planning/packing"
)

var fragments = flag.Int("fragments", 0, "clusters of each kind and size in TestFragments, within the time of -within; the published table has 4. 0: some sizes, within the default steps")

// placedBy returns the number of pods with a node by priority, and fails if a node has more devices in use than it offers, if a pod is
// where it may not be, or if a pod moved that has to stay.
func (f *fragmented) placedBy(t *testing.T, p packing.Plan) map[int32]int {
	on, free := map[string]string{}, map[string]int64{}
	for _, q := range f.pods {
		on[podinfo.Name(q)] = q.Spec.NodeName
	}
	for _, n := range f.nodes {
		devices := n.Status.Allocatable[gpu]
		free[n.Name] = devices.Value()
	}
	for _, a := range p.Actions {
		on[a.Pod] = a.To
	}
	out := map[int32]int{}
	for _, q := range slices.Concat(f.pods, f.pending) {
		node := on[podinfo.Name(q)]
		if q.OwnerReferences != nil || q.Labels["app"] == "kept" {
			require.Equal(t, q.Spec.NodeName, node)
		}
		if node == "" {
			continue
		}
		devices := q.Spec.Containers[0].Resources.Requests[gpu]
		free[node] -= devices.Value()
		require.GreaterOrEqual(t, free[node], int64(0))
		if q.Spec.Affinity != nil {
			require.Contains(t, q.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions[0].Values, node)
		}
		out[*q.Spec.Priority]++
	}
	return out
}

// At least 95 % of the fragmented clusters of each kind, of 2 to 16 nodes with 2 to 16 devices, get the best plan. No plan has more than
// the best, and no bound has less.
func TestFragments(t *testing.T) {
	sizes, seeds := []int{2, 3, 4, 7, 16}, 1
	if *fragments > 0 {
		sizes, seeds = []int{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, *fragments
	}
	t.Logf("%-14s %8s %8s %8s %8s", "kind", "clusters", "found", "proved", "slowest")
	type size struct{ nodes, each int }
	ofSize, foundOf := map[size]int{}, map[size]int{}
	for kind := range kinds {
		all, found, closed, slowest := 0, 0, 0, time.Duration(0)
		for _, nodes := range sizes {
			for _, each := range sizes {
				for seed := range uint64(seeds) {
					f, best, ok := newFragmented(kind, nodes, each, seed)
					if !ok {
						continue
					}
					began, o := time.Now(), packing.Options{}
					if *fragments > 0 {
						o.Steps, o.Stop = 1<<40, func() bool { return time.Since(began) >= *within }
					}
					p := f.pack(t, o)
					slowest = max(slowest, time.Since(began))
					if p.LeaveIt {
						require.Empty(t, p.Actions)
					}
					var want []int
					by := f.placedBy(t, p)
					for _, x := range p.Tiers {
						want = append(want, best[x.Priority])
						if !p.LeaveIt {
							require.Equal(t, by[x.Priority], x.Placed)
						}
					}
					require.LessOrEqual(t, slices.Compare(vector(p.Tiers, placed), want), 0)
					require.GreaterOrEqual(t, slices.Compare(vector(p.Tiers, bound), want), 0)
					all++
					ofSize[size{nodes, each}]++
					if slices.Equal(vector(p.Tiers, placed), want) {
						found++
						foundOf[size{nodes, each}]++
					}
					if p.Optimal {
						closed++
					}
				}
			}
		}
		t.Logf("%-14s %8d %8d %8d %8s", kinds[kind].name, all, found, closed, slowest.Round(time.Millisecond))
		require.GreaterOrEqual(t, 100*found, 95*all, "%s: %s", kinds[kind].name, kinds[kind].why)
		require.GreaterOrEqual(t, 100*closed, 95*all, "%s: %s", kinds[kind].name, kinds[kind].why)
	}
	for _, nodes := range sizes {
		row := fmt.Sprintf("%2d nodes:", nodes)
		for _, each := range sizes {
			row += fmt.Sprintf(" %3d/%-3d", foundOf[size{nodes, each}], ofSize[size{nodes, each}])
		}
		t.Log(row)
	}
}

// toys makes a small cluster with pods of any number of devices, some of which stay or may use few nodes only.
func toys(b *testkit.Bytes) *fragmented {
	f := &fragmented{}
	for i := range 2 + b.Below(2) {
		f.nodes = append(f.nodes, node("g"+string(rune('0'+i)), "a", "cpu=64,memory=512Gi"))
		f.free = append(f.free, 2+b.Below(5))
		f.shrink(i, 0)
	}
	for range 4 + b.Below(5) {
		var only []string
		for _, n := range f.nodes {
			if b.OneIn(8) {
				only = append(only, n.Name)
			}
		}
		i, size, priority := b.Below(len(f.nodes)), 1+b.Below(4), testkit.Pick(b, int32(low), mid, high)
		switch {
		case f.free[i] < size || b.OneIn(3) || only != nil && !slices.Contains(only, f.nodes[i].Name):
			f.waits(size, priority, only...)
		case b.OneIn(6):
			f.free[i] -= size
			f.pods = append(f.pods, owned(f.pod(size, priority).On(f.nodes[i].Name).Obj()))
		default:
			f.loose = len(f.nodes)
			f.runs(i, size, priority, only...)
		}
	}
	return f
}

// most returns the best vector over all assignments of pods of DaemonSets to their nodes and of others to nodes that they may use.
func (f *fragmented) most(tiers []packing.Tier) (best []int) {
	free := map[string]int64{}
	for _, n := range f.nodes {
		devices := n.Status.Allocatable[gpu]
		free[n.Name] = devices.Value()
	}
	value := make([]int, len(tiers))
	var try func(rest []*v1.Pod)
	try = func(rest []*v1.Pod) {
		if len(rest) == 0 {
			if slices.Compare(value, best) > 0 {
				best = slices.Clone(value)
			}
			return
		}
		q := rest[0]
		devices := q.Spec.Containers[0].Resources.Requests[gpu]
		tier := slices.IndexFunc(tiers, func(x packing.Tier) bool { return x.Priority == *q.Spec.Priority })
		for _, n := range f.nodes {
			if free[n.Name] < devices.Value() || q.OwnerReferences != nil && n.Name != q.Spec.NodeName || q.Spec.Affinity != nil &&
				!slices.Contains(q.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions[0].Values, n.Name) {
				continue
			}
			free[n.Name] -= devices.Value()
			value[tier]++
			try(rest[1:])
			free[n.Name] += devices.Value()
			value[tier]--
		}
		if q.OwnerReferences == nil {
			try(rest[1:])
		}
	}
	try(slices.Concat(f.pods, f.pending))
	return best
}

// In small clusters the plan is the best one, the bound is never below it, and the bound proves it in four of five.
func TestGap(t *testing.T) {
	all, proved := 0, 0
	for seed := range uint64(testkit.Rounds(*cases)) {
		f := toys(testkit.NewBytes(testkit.RandomBytes(seed+7e6, 200)))
		p := f.pack(t, packing.Options{Steps: 2000})
		want := f.most(p.Tiers)
		require.GreaterOrEqual(t, slices.Compare(vector(p.Tiers, bound), want), 0, "seed %d", seed)
		if !p.LeaveIt { // kube-scheduler also evicts pods of DaemonSets
			require.Equal(t, want, vector(p.Tiers, placed), "seed %d", seed)
		}
		require.GreaterOrEqual(t, slices.Compare(vector(p.Tiers, placed), want), 0, "seed %d", seed)
		require.GreaterOrEqual(t, slices.Compare(vector(p.Tiers, bound), vector(p.Tiers, placed)), 0, "seed %d", seed)
		all++
		if p.Optimal && !p.LeaveIt || p.DefaultOptimal {
			proved++
		}
	}
	t.Logf("%d clusters, %d proved", all, proved)
	require.GreaterOrEqual(t, 100*proved, 80*all)
}
