package consolidation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// racks is a world whose nodes have a rack each: "a a b" are three nodes of two racks. "-" is none.
func racks(cpu int, list ...string) *world {
	w := &world{}
	for k, rack := range list {
		n := w.node(fmt.Sprintf("n%d", k), "z", fmt.Sprintf("cpu=%d", cpu))
		if rack != "-" {
			n.Labels["rack"] = rack
		}
	}
	w.in.FreeDomains = "rack"
	return w
}

// Racks that are freed whole, worked out by hand.
func TestFreeDomains(t *testing.T) {
	type test struct {
		name, why            string
		fill                 func() *world
		options              Options
		before, after, bound int64
		want                 []Freed
	}
	testkit.Run(t, []test{
		{
			name: "two halves", why: "six pods of 1 CPU fit in one rack of 8",
			fill: func() *world {
				w := racks(4, "a", "a", "b", "b")
				w.app("web", "cpu=1", "n0 n1 n2 n2 n3 n3", nil)
				return w
			},
			before: 2, after: 1, bound: 1, want: []Freed{{Domain: "a", Nodes: 2, Wave: 0, Moves: 2}},
		},
		{
			name: "nine of eight", why: "one node of rack a is free, and no rack takes 9 CPUs",
			fill: func() *world {
				w := racks(4, "a", "a", "b", "b")
				w.app("web", "cpu=3", "n0 n2 n3", nil)
				return w
			},
			before: 2, after: 2, bound: 2,
		},
		{
			name: "a node without a rack", why: "it takes what it can and is free of charge",
			fill: func() *world {
				w := racks(4, "a", "-")
				w.app("web", "cpu=2", "n0 n0", nil)
				return w
			},
			before: 1, after: 0, bound: 0, want: []Freed{{Domain: "a", Nodes: 1, Wave: 0, Moves: 2}},
		},
		{
			name: "a pod that nobody makes again", why: "its rack stays, and takes the pods of the other",
			fill: func() *world {
				w := racks(4, "a", "a", "b")
				w.pod("", "", "alone", "n1", template("alone", "cpu=1", nil))
				w.app("web", "cpu=3", "n2", nil)
				return w
			},
			before: 2, after: 1, bound: 1, want: []Freed{{Domain: "b", Nodes: 1, Wave: 0, Moves: 1}},
		},
		{
			name: "free already", why: "no pod goes to a rack that is free",
			fill: func() *world {
				w := racks(4, "a", "b")
				w.app("web", "cpu=1", "n0 n0", nil)
				return w
			},
			before: 2, after: 1, bound: 1, want: []Freed{{Domain: "b", Nodes: 1, Wave: -1}},
		},
		{
			name: "at most one move", why: "rack a needs two, rack c one",
			fill: func() *world {
				w := racks(4, "a", "b", "c")
				w.app("web", "cpu=1", "n0 n0 n1 n1 n2", nil)
				return w
			},
			options: Options{MaxMoves: 1}, before: 3, after: 2, bound: 2, want: []Freed{{Domain: "c", Nodes: 1, Wave: 0, Moves: 1}},
		},
		{
			name: "a pod of one rack", why: "what it cannot use is there for the others: six CPUs of web and its own fit in two racks",
			fill: func() *world {
				w := racks(4, "a", "b", "c")
				w.app("pin", "cpu=1", "n0", func(s *v1.PodSpec) { s.NodeSelector = map[string]string{"rack": "a"} })
				w.app("web", "cpu=2", "n0 n1 n2", nil)
				return w
			},
			before: 3, after: 2, bound: 2, want: []Freed{{Domain: "b", Nodes: 1, Wave: 0, Moves: 1}},
		},
		{
			name: "apart by host", why: "three pods of one app need three hosts, and no rack has more than two",
			fill: func() *world {
				w := racks(4, "a", "a", "b", "b", "c")
				w.app("web", "cpu=1", "n0 n2 n4", apart("web", v1.LabelHostname))
				for _, n := range w.objects.Nodes {
					n.Labels[v1.LabelHostname] = n.Name
				}
				return w
			},
			before: 3, after: 2, bound: 2, want: []Freed{{Domain: "a", Nodes: 2, Wave: 0, Moves: 1}},
		},
	}, func(t *testing.T, c test) {
		w := c.fill()
		p := w.planner(t)
		plan, err := p.Plan(c.options)
		require.NoError(t, err)
		require.Equal(t, []int64{c.before, c.after, c.bound}, []int64{plan.Before, plan.After, plan.Bound})
		require.Equal(t, c.want, plan.Domains)
		lawful(t, w, plan)
		replay, err := p.Replay(plan)
		require.NoError(t, err)
		require.Empty(t, replay.Pending)
	})
}

// A pod of a DaemonSet does not keep a rack from being free.
func TestFreeDomainsWithDaemons(t *testing.T) {
	w := racks(4, "a", "b")
	w.app("web", "cpu=1", "n0 n1", nil)
	for _, n := range []string{"n0", "n1"} {
		p := w.pod("DaemonSet", "agent", "agent-"+n, n, template("agent", "cpu=1", nil))
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: "agent", Controller: ptr(true)}}
	}
	p := w.planner(t)
	plan, err := p.Plan(Options{})
	require.NoError(t, err)
	require.Len(t, plan.Domains, 1)
	require.Equal(t, int64(1), plan.After)
	after, err := p.After(plan)
	require.NoError(t, err)
	var left []string
	for i := range after.Len() {
		for pod := range after.Pods(i) {
			left = append(left, after.Node(i).Name+" "+pod.Labels["app"])
		}
		require.False(t, after.Node(i).Spec.Unschedulable)
		require.NotContains(t, after.Node(i).Annotations, emptied)
	}
	slices.Sort(left)
	require.Len(t, left, 4)
	require.Contains(t, left, "n0 agent")
	require.Contains(t, left, "n1 agent")
}

// Racks of small clusters against every set of racks and every placement: no plan frees more than brute force, no bound is above it, and at
// least 95 of 100 plans free as many. The long run has -clusters 2000.
func TestFreeDomainsBruteForce(t *testing.T) {
	equal, n := 0, *clusters
	if testing.Short() {
		n = min(n, 40)
	}
	for k := range uint64(n) {
		r := rand.New(rand.NewPCG(*seed+k, 23))
		b := drawBrute(r, false)
		rack := make([]int, len(b.cpu)) // -1: none
		for i, node := range b.w.objects.Nodes {
			if rack[i] = r.IntN(5) - 1; rack[i] >= 0 {
				node.Labels["rack"] = fmt.Sprintf("r%d", rack[i])
			}
		}
		b.w.in.Price, b.w.in.FreeDomains = nil, "rack"
		plan := b.w.plan(t, Options{Steps: 200})
		best := b.fewestRacks(rack)
		require.LessOrEqual(t, plan.Bound, best, "seed %d", *seed+k)
		require.GreaterOrEqual(t, plan.After, best, "seed %d", *seed+k)
		if plan.After == best {
			equal++
		} else {
			t.Logf("seed %d: %d racks stay, brute force finds %d", *seed+k, plan.After, best)
		}
		freed := map[string]bool{}
		for _, d := range plan.Domains {
			freed[d.Domain] = true
		}
		in := map[string]bool{}
		for i, node := range b.w.objects.Nodes {
			if rack[i] >= 0 {
				in[node.Labels["rack"]] = true
			}
		}
		require.Equal(t, plan.After, int64(len(in)-len(freed)))
		lawful(t, b.w, plan)
	}
	t.Logf("%d of %d equal", equal, n)
	require.GreaterOrEqual(t, 100*equal, 95*n)
}

// fewestRacks returns how many racks stay at least.
func (b *brute) fewestRacks(rack []int) int64 {
	least := int64(len(rack))
	for racks := range 1 << 4 {
		set, held, stay := 0, false, map[int]bool{}
		for i, r := range rack {
			switch {
			case r < 0:
			case racks>>r&1 == 1:
				set |= 1 << i
				held = held || b.held[i]
			default:
				stay[r] = true
			}
		}
		if !held && int64(len(stay)) < least && b.works(set) {
			least = int64(len(stay))
		}
	}
	return least
}
