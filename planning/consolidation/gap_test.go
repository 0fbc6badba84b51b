package consolidation

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

var packed = flag.Int("packed", 3, "generated clusters with a known best plan in TestGap; the long run is 40")

// pack makes a cluster whose best plan is known: so many nodes that pods fill to 95 in 100 or more, and the same pods spread over
// more nodes. A fifth of the pods keep apart by host.
func pack(r *rand.Rand, best int) *world {
	w := &world{}
	n := best + best/2 + r.IntN(best)
	for i := range n {
		w.node(fmt.Sprintf("n%d", i), fmt.Sprintf("z%d", i%3), "cpu=16")
	}
	sizes := map[int]int{} // by hundredths of a core
	for range best {
		for free := 1600; free > 0; {
			size := 50 * (1 + r.IntN(16))
			if size > free {
				if free <= 80 {
					break
				}
				size = free / 50 * 50
			}
			free -= size
			sizes[size]++
		}
	}
	free := make([]int, n)
	for i := range free {
		free[i] = 1600
	}
	var order []int
	for size := range sizes {
		order = append(order, size)
	}
	slices.Sort(order)
	slices.Reverse(order)
	app := 0
	for _, size := range order {
		for left := sizes[size]; left > 0; app++ {
			count := min(left, 5+r.IntN(20))
			left -= count
			var on []string
			taken := map[int]bool{}
			for len(on) < count {
				if i := r.IntN(n); free[i] >= size && !taken[i] {
					free[i] -= size
					taken[i] = true
					on = append(on, fmt.Sprintf("n%d", i))
				}
			}
			name := fmt.Sprintf("app%d", app)
			var change func(*v1.PodSpec)
			if app%5 == 0 && count <= best/4 {
				change = apart(name, v1.LabelHostname)
			}
			w.app(name, fmt.Sprintf("cpu=%dm", 10*size), strings.Join(on, " "), change)
		}
	}
	return w
}

// Of clusters whose best plan is known the median gap is at most 5 in 100 and the 90th percentile 15 in 100. The long run is
// go test ./planning/consolidation -run TestGap -v -args -packed 40, with clusters of up to 1,000 nodes.
func TestGap(t *testing.T) {
	var gaps []float64
	for k := range *packed {
		r := rand.New(rand.NewPCG(*seed+uint64(k), 11))
		best := 50 + r.IntN(20)
		if *packed > 10 {
			best = 50 + r.IntN(400)
		}
		w := pack(r, best)
		plan := w.plan(t, Options{Steps: 200, Seed: 1})
		require.GreaterOrEqual(t, plan.After, plan.Bound)
		require.LessOrEqual(t, plan.Bound, int64(best))
		gaps = append(gaps, plan.Gap())
		t.Logf("%d nodes: %d of them stay, %d would be best, the bound is %d", len(w.objects.Nodes), plan.After, best, plan.Bound)
	}
	slices.Sort(gaps)
	t.Logf("median %.3f, 90th percentile %.3f", gaps[len(gaps)/2], gaps[len(gaps)*9/10])
	require.LessOrEqual(t, gaps[len(gaps)/2], 0.05)
	require.LessOrEqual(t, gaps[len(gaps)*9/10], 0.15)
}

// halving returns how many nodes the search of common autoscalers empties: of at most 100 nodes, in the order of how many pods
// they have, it looks for the largest number whose pods all find places on the others, by halving.
func halving(t *testing.T, w *world) int {
	t.Helper()
	s, err := cluster.New(w.objects)
	require.NoError(t, err)
	profile := placement.DefaultProfile()
	profile.Sampling = placement.AllNodes()
	placer, err := placement.NewPlacer(s, profile)
	require.NoError(t, err)
	byNode := map[string][]*v1.Pod{}
	for _, p := range w.objects.Pods {
		byNode[p.Spec.NodeName] = append(byNode[p.Spec.NodeName], p)
	}
	nodes := slices.Clone(w.objects.Nodes)
	slices.SortStableFunc(nodes, func(a, b *v1.Node) int { return len(byNode[a.Name]) - len(byNode[b.Name]) })
	nodes = nodes[:min(len(nodes)-1, 100)]
	fits := func(n int) bool {
		m := s.Mark()
		defer s.Rollback(m)
		var move []*v1.Pod
		for _, node := range nodes[:n] {
			for _, p := range byNode[node.Name] {
				require.NoError(t, s.Remove(p))
				c := *p
				c.Spec.NodeName = ""
				move = append(move, &c)
			}
			require.NoError(t, s.Remove(node))
		}
		_, err := placer.PlaceAll(move, placement.Options{})
		return err == nil
	}
	lo, hi := 0, len(nodes)
	for lo < hi {
		if mid := (lo + hi + 1) / 2; fits(mid) {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

// A plan never empties fewer nodes than halving over 100 candidates.
func TestHalving(t *testing.T) {
	testkit.Sequential(t)
	for k := range uint64(2) {
		r := rand.New(rand.NewPCG(*seed+k, 13))
		w := pack(r, 20+r.IntN(30))
		other := halving(t, w)
		plan := w.plan(t, Options{})
		t.Logf("%d nodes: a plan empties %d, halving %d", len(w.objects.Nodes), len(plan.Nodes), other)
		require.GreaterOrEqual(t, len(plan.Nodes), other)
	}
	w := large(100, 6)
	other := halving(t, w)
	plan := w.plan(t, Options{})
	t.Logf("100 nodes with rules: a plan empties %d, halving %d", len(plan.Nodes), other)
	require.GreaterOrEqual(t, len(plan.Nodes), other)
}
