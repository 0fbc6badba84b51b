package consolidation

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// placed moves a load to a node in a search.
func (x *search) placed(t *testing.T, pod, node string) {
	t.Helper()
	for id := range x.loads {
		if x.loads[id].old.Name == pod {
			_, ok := x.try(int32(id), node)
			require.True(t, ok)
			return
		}
	}
	require.Fail(t, "no pod "+pod)
}

// vacated notes that a node is empty, after its pods were placed elsewhere.
func (x *search) vacated(t *testing.T, node string) {
	t.Helper()
	i := x.snapshot.Slot(node)
	require.Empty(t, x.on[i])
	require.NoError(t, x.snapshot.Set(x.cordoned(i)))
	x.flip(i)
}

// The nodes have 10 cores each. n1 and n2 stay, with 6 and 7 cores of pods that do not move. The pods of n3 have moved to n1 and n2.
// The last pod is on n4, which is squeezed.
func TestSqueeze(t *testing.T) {
	type test struct {
		name, why string
		moved     map[string]string // cores of the pods that have moved, by node
		last      string            // cores of the last pod
		ok        bool
	}
	testkit.Run(t, []test{
		{"a smaller pod leaves", "n1 has 1 core left and n2 has 3: the pod of 4 takes the place of the pod of 3 on n1, which goes to n2",
			map[string]string{"n1": "3"}, "4", true},
		{"two rooms become one", "1 core is left on each: the pod of 2 takes the place of the pod of 3 on n1, which then has 2 left; the pod of 3 takes the place of the pod of 2 on n2, which goes to n1",
			map[string]string{"n1": "3", "n2": "2"}, "2", true},
		{"too much", "1 core is left on each, and the pod asks for 3", map[string]string{"n1": "3", "n2": "2"}, "3", false},
	}, func(t *testing.T, c test) {
		w := &world{}
		for _, n := range []string{"n1", "n2", "n3", "n4"} {
			w.node(n, "a", "cpu=10")
		}
		w.app("own1", "cpu=6", "n1", nil)
		w.app("own2", "cpu=7", "n2", nil)
		w.in.Hold = func(pod *v1.Pod) string {
			if pod.Spec.NodeName <= "n2" {
				return "held"
			}
			return ""
		}
		for _, cores := range c.moved {
			w.app("of-"+cores, "cpu="+cores, "n3", nil)
		}
		w.app("last", "cpu="+c.last, "n4", nil)
		x := w.planner(t).newSearch(Options{})
		for node, cores := range c.moved {
			x.placed(t, "of-"+cores+"-0", node)
		}
		x.vacated(t, "n3")
		ok := x.squeeze(x.snapshot.Slot("n4"))
		require.Equal(t, c.ok, ok, c.why)
		require.Equal(t, c.ok, x.empty[x.snapshot.Slot("n4")])
		for i := range x.nodes {
			require.LessOrEqual(t, x.snapshot.Requested(i).At(0), x.snapshot.Allocatable(i).At(0))
			require.Equal(t, x.empty[i], len(x.on[i]) == 0 && x.nodes[i].held == "")
		}
		for id := range x.loads {
			require.Same(t, x.pod[id], x.snapshot.Pod("default", x.pod[id].Name), "every pod is on a node")
		}
	})
}

// Among 100 nodes with 600 pods with rules and budgets the search comes within one node of the bound.
func TestSearchMeetsBound(t *testing.T) {
	w := large(100, 6)
	plan := w.plan(t, Options{Steps: 200})
	t.Logf("%d nodes stay, the bound is %d", plan.After, plan.Bound)
	require.LessOrEqual(t, plan.After, plan.Bound+1)
	lawful(t, w, plan)
}

// Equal pods that wait change places: two pods of zone a and two of zone b have each other's zone as their place, with a hard spread
// constraint over zones; no single one of them can go there.
func TestInstead(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n1 n3 n3", spreadOver("web", v1.LabelTopologyZone))
	w.objects.Nodes = w.objects.Nodes[:4]
	p := w.planner(t)
	c := choice{nodes: []int{p.base.Slot("n1"), p.base.Slot("n3")}, target: map[int32]int32{}}
	for id := range p.loads {
		to := "n4"
		if p.nodes[p.loads[id].slot].object.Name == "n3" {
			to = "n2"
		}
		c.target[int32(id)] = int32(p.base.Slot(to))
	}
	plan := p.order(c)
	require.Equal(t, []string{"n1", "n3"}, removed(plan), "%v", lines(plan))
	lawful(t, w, plan)
	for _, wave := range plan.Waves {
		for _, m := range wave {
			require.Equal(t, map[string]string{"n1": "n2", "n3": "n4"}[m.From], m.To, "each pod stays in its zone")
		}
	}
}

// Twelve pods of 2 cores are spread over three zones with nodes of 4 cores; nodes of zone a cost 10, others 1. A held node keeps each
// zone, so that each has at least (12 - 2) / 3, rounded up, 4 pods on 2 nodes: 20 + 2 + 2. Without the constraint the held node of zone
// a and five cheap ones are enough. Without held nodes zone a may be given up: the 12 pods fit on 6 cheap nodes.
func TestBoundOfSpread(t *testing.T) {
	build := func(change func(*v1.PodSpec), held string) *world {
		w := &world{}
		for k, zone := range []string{"a", "a", "b", "b", "b", "c", "c", "c"} {
			w.node(fmt.Sprintf("n%d", k+1), zone, "cpu=4")
		}
		w.app("web", "cpu=2", "n1 n1 n2 n2 n3 n3 n4 n4 n6 n6 n7 n7", change)
		w.in.Price = func(n *v1.Node) int64 {
			if n.Labels[v1.LabelTopologyZone] == "a" {
				return 10
			}
			return 1
		}
		w.in.HoldNode = func(n *v1.Node) string {
			if strings.Contains(held, n.Name) {
				return "held"
			}
			return ""
		}
		return w
	}
	spread := spreadOver("web", v1.LabelTopologyZone)
	w := build(spread, "n1 n3 n6")
	plan := w.plan(t, Options{Steps: 50})
	require.Equal(t, []int64{24, 24}, []int64{plan.Bound, plan.After})
	lawful(t, w, plan)
	require.Equal(t, int64(15), build(nil, "n1 n3 n6").plan(t, Options{}).Bound)
	require.Equal(t, int64(6), build(spread, "").plan(t, Options{}).Bound)
	loose := build(func(s *v1.PodSpec) {
		spread(s)
		s.TopologySpreadConstraints[0].MaxSkew = 3
	}, "n1 n3 n6")
	require.Equal(t, int64(15), loose.plan(t, Options{}).Bound, "with maxSkew 3 a zone has at least (12 - 6) / 3 pods, on 1 node")
}

// The trades of a node are the best of all that fit: one or two loads of the pool for no, one or two guests, that fill the node more or
// as much with fewer pods. Of equal trades the first that a plain search finds comes first.
func TestTrades(t *testing.T) {
	full, some := 0, 0
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 61))
		w := pack(r, 6+r.IntN(8))
		for k, pod := range w.objects.Pods {
			if k%7 == 3 {
				delete(pod.Spec.Containers[0].Resources.Requests, "cpu") // nothing is asked for
			}
		}
		x := w.planner(t).newSearch(Options{})
		x.first()
		stay := slices.DeleteFunc(slices.Clone(x.list), func(i int) bool { return x.empty[i] })
		from := stay[r.IntN(len(stay))]
		pool := slices.Clone(x.on[from])
		for _, id := range pool {
			x.raise(id)
		}
		for _, k := range stay {
			var guests []int32
			for _, id := range x.on[k] {
				if x.loads[id].slot != int32(k) {
					guests = append(guests, id)
				}
			}
			sets := func(list []int32) [][]int32 {
				out := [][]int32{nil}
				for a := range list {
					out = append(out, list[a:a+1])
					for b := a + 1; b < len(list); b++ {
						out = append(out, []int32{list[a], list[b]})
					}
				}
				return out
			}
			sum := func(ids []int32) (cpu int64, size float64) {
				for _, id := range ids {
					cpu, size = cpu+x.loads[id].asks.At(0), size+x.loads[id].size
				}
				return cpu, size
			}
			var want []trade
			for _, out := range sets(guests) {
				for _, in := range sets(pool[:min(len(pool), 12)])[1:] {
					leaves, given := sum(out)
					comes, taken := sum(in)
					gain, finer := taken-given, len(out)-len(in)
					if comes > 0 && comes > x.snapshot.Allocatable(k).At(0)-x.snapshot.Requested(k).At(0)+leaves || gain < -1e-12 || gain < 1e-12 && finer <= 0 {
						continue
					}
					want = append(want, trade{out: pair(out), in: pair(in), gain: gain, finer: finer})
				}
			}
			slices.SortStableFunc(want, func(a, b trade) int {
				if math.Abs(a.gain-b.gain) > 1e-12 {
					return cmp.Compare(b.gain, a.gain)
				}
				return b.finer - a.finer
			})
			got := x.trades(pool, k)
			require.Len(t, got, min(4, len(want)), "seed %d", seed)
			for at := range got {
				require.InDelta(t, want[at].gain, got[at].gain, 1e-12)
				got[at].gain = want[at].gain
				require.Equal(t, want[at], got[at], "seed %d, trade %d of node %d", seed, at, k)
			}
			if len(want) > 4 {
				full++
			} else if len(want) > 0 {
				some++
			}
		}
	}
	require.Greater(t, min(full, some), 20, "%d nodes with more trades than are kept, %d with fewer", full, some)
}

// pair returns the loads of a set; -1: none.
func pair(ids []int32) [2]int32 {
	out := [2]int32{-1, -1}
	copy(out[:], ids)
	return out
}

// A trade is better by its gain, and with about the same gain when more loads leave than come.
func TestBetterTrade(t *testing.T) {
	for _, c := range []struct {
		a, b   trade
		better bool
	}{
		{trade{gain: 2 * tiny}, trade{}, true}, {trade{gain: tiny}, trade{}, false}, {trade{}, trade{gain: 2 * tiny}, false}, {trade{}, trade{gain: tiny}, false},
		{trade{finer: 1}, trade{}, true}, {trade{}, trade{finer: 1}, false}, {trade{}, trade{}, false}, {trade{gain: tiny}, trade{finer: 1}, false},
		{trade{finer: 1}, trade{gain: tiny}, true}, {trade{gain: 2 * tiny}, trade{finer: 1}, true}, {trade{finer: 1}, trade{gain: 2 * tiny}, false},
	} {
		require.Equal(t, c.better, c.a.better(c.b), "%v and %v", c.a, c.b)
	}
}

// What a node that offers so much has beside what is in use. Nothing is needed of a resource that is not asked for.
func TestCovers(t *testing.T) {
	for _, c := range []struct {
		offer, used, asks resources.Vector
		want              bool
	}{
		{resources.Vector{4, 4}, resources.Vector{1, 1}, resources.Vector{3, 3}, true}, {resources.Vector{4, 4}, resources.Vector{1, 1}, resources.Vector{3, 4}, false},
		{resources.Vector{4, 4}, resources.Vector{1, 1}, resources.Vector{4, 3}, false}, {resources.Vector{4, 1}, resources.Vector{1, 5}, resources.Vector{3, 0}, true},
		{resources.Vector{4}, resources.Vector{1, 1}, resources.Vector{3, 1}, false}, {resources.Vector{4, 4}, resources.Vector{1}, resources.Vector{3, 4}, true},
		{resources.Vector{4, 4}, nil, nil, true}, {resources.Vector{1, 4}, resources.Vector{2}, nil, true},
	} {
		require.Equal(t, c.want, covers(c.offer, c.used, c.asks), "%v of %v", c.asks, c.offer)
	}
}
