package consolidation

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Clusters whose plans are worked out by hand. Every node has 4 CPUs unless the case says otherwise.
func TestPlan(t *testing.T) {
	const zone, host = v1.LabelTopologyZone, v1.LabelHostname
	type test struct {
		name  string
		why   string
		fill  func(w *world)
		after int64 // nodes that are left
		bound int64
		lines []string // nil: not compared
		held  map[string]string
	}
	testkit.Run(t, []test{
		{
			name: "empty nodes", why: "4 of 5 nodes have no pods, and the pod of the other fits nowhere better",
			fill:  func(w *world) { w.app("web", "cpu=1", "n1", nil) },
			after: 1, bound: 1,
			lines: []string{"remove n2 after -1", "remove n3 after -1", "remove n4 after -1", "remove n5 after -1"},
		},
		{
			name: "pods fit elsewhere", why: "5 pods of 1 CPU need two nodes of 4: three nodes go",
			fill:  func(w *world) { w.app("web", "cpu=1", "n1 n2 n3 n4 n5", nil) },
			after: 2, bound: 2,
		},
		{
			name: "full nodes", why: "5 pods of 3 CPUs: no two share a node of 4, although 15 CPUs would fit on four nodes",
			fill:  func(w *world) { w.app("web", "cpu=3", "n1 n2 n3 n4 n5", nil) },
			after: 5, bound: 4,
			lines: nil,
		},
		{
			name: "bare pod", why: "nobody makes the pods of n1 again; the other four nodes are empty",
			fill: func(w *world) {
				w.pod("", "", "bare", "n1", template("bare", "cpu=1", nil))
			},
			after: 1, bound: 1, held: map[string]string{"n1": "the pod has no controller"},
		},
		{
			name: "pod that must not be disrupted", why: "n1 and n2 have a pod with the annotation each",
			fill: func(w *world) {
				w.in.Hold = HeldByAnnotation
				w.app("web", "cpu=1", "n1 n2 n3", nil)
				w.objects.Pods[0].Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"}
				w.objects.Pods[1].Annotations = map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
			},
			after: 2, bound: 2,
			held: map[string]string{
				"n1": `the pod has the annotation karpenter.sh/do-not-disrupt: "true"`,
				"n2": `the pod has the annotation cluster-autoscaler.kubernetes.io/safe-to-evict: "false"`,
			},
		},
		{
			name: "budget of 0", why: "the budget wants both pods, so that neither may leave; three nodes are empty",
			fill: func(w *world) {
				w.app("web", "cpu=1", "n1 n2", nil)
				w.budget("web", 2)
			},
			after: 2, bound: 2,
			held: map[string]string{
				"n1": "the Eviction API refuses: The disruption budget web needs 2 healthy pods and has 2 currently",
				"n2": "the Eviction API refuses: The disruption budget web needs 2 healthy pods and has 2 currently",
			},
		},
		{
			name: "budget of 1", why: "of 3 pods that fit on one node one may be away at a time: two waves",
			fill: func(w *world) {
				w.app("web", "cpu=1", "n1 n2 n3", nil)
				w.budget("web", 2)
			},
			after: 1, bound: 1,
			lines: []string{"0 web-0 n1 n3", "1 web-1 n2 n3", "remove n4 after -1", "remove n5 after -1", "remove n1 after 0", "remove n2 after 1"},
		},
		{
			name: "hostname anti-affinity", why: "three pods that keep apart need three nodes, although one has room for all",
			fill:  func(w *world) { w.app("web", "cpu=1", "n1 n2 n3", apart("web", host)) },
			after: 3, bound: 3,
		},
		{
			name: "zone anti-affinity", why: "three pods keep to three zones; n2 and n4 are empty",
			fill:  func(w *world) { w.app("web", "cpu=1", "n1 n3 n5", apart("web", zone)) },
			after: 3, bound: 3,
		},
		{
			name: "hard zone spread", why: "2, 2 and 1 pods in three zones: n5 is the only node of its zone, which counts as long as n5 is there, and its pod cannot join the others; in a and b one of two nodes goes",
			fill:  func(w *world) { w.app("web", "cpu=1", "n1 n2 n3 n4 n5", spreadOver("web", zone)) },
			after: 3, bound: 2,
		},
		{
			name: "affinity of a pod that stays", why: "web wants a db pod in its zone and cannot leave n1 itself: db may go from n1 to n2 and not out of zone a",
			fill: func(w *world) {
				w.app("db", "cpu=1", "n2", nil)
				w.app("web", "cpu=1", "n1", beside("db", zone))
				w.app("other", "cpu=3", "n5", nil)
				w.in.Hold = func(pod *v1.Pod) string {
					if pod.Name == "web-0" || pod.Name == "other-0" {
						return "held"
					}
					return ""
				}
			},
			after: 2, bound: 2,
			lines: []string{"0 db-0 n2 n1", "remove n3 after -1", "remove n4 after -1", "remove n2 after 0"},
			held:  map[string]string{"n1": "held", "n5": "held"},
		},
		{
			name: "stateful pods", why: "pods of a StatefulSet move one at a time",
			fill:  func(w *world) { w.stateful("db", "cpu=1", "n1 n2 n3") },
			after: 1, bound: 1,
			lines: []string{"0 db-0 n1 n3", "1 db-1 n2 n3", "remove n4 after -1", "remove n5 after -1", "remove n1 after 0", "remove n2 after 1"},
		},
		{
			name: "daemons", why: "the pods of a DaemonSet leave with their node and take 1 CPU of each node that stays: 3 pods of 1 CPU fit on one",
			fill: func(w *world) {
				for _, n := range []string{"n1", "n2", "n3", "n4", "n5"} {
					w.pod("DaemonSet", "agent", "agent-"+n, n, template("agent", "cpu=1", nil))
				}
				w.app("web", "cpu=1", "n1 n2 n3", nil)
			},
			after: 1, bound: 1,
		},
	}, func(t *testing.T, c test) {
		w := five("cpu=4")
		c.fill(w)
		plan := w.plan(t, Options{Steps: 200})
		require.Equal(t, int64(5), plan.Before, c.why)
		require.Equal(t, c.after, plan.After, "%s: %v", c.why, lines(plan))
		require.Equal(t, c.bound, plan.Bound, c.why)
		require.Len(t, plan.Nodes, int(5-c.after))
		if c.lines != nil {
			require.Equal(t, c.lines, lines(plan), c.why)
		}
		held := map[string]string{}
		for _, k := range plan.Kept {
			held[k.Node] = k.Reason
		}
		if c.held == nil {
			c.held = map[string]string{}
		}
		require.Equal(t, c.held, held, c.why)
		lawful(t, w, plan)
	})
}

// Nodes of different prices: 8 pods of 1 CPU are on a large node (8 CPUs, price 10) and two small nodes (4 CPUs, price 3) are
// nearly empty. The small nodes take all pods of the large node for 6.
func TestPrices(t *testing.T) {
	w := &world{}
	w.node("large", "a", "cpu=8")
	w.node("small-1", "a", "cpu=4")
	w.node("small-2", "a", "cpu=4")
	w.app("web", "cpu=1", "large large large large large large large large", nil)
	w.in.Price = func(n *v1.Node) int64 {
		if n.Name == "large" {
			return 10
		}
		return 3
	}
	plan := w.plan(t, Options{Steps: 100})
	require.Equal(t, []string{"large"}, removed(plan))
	require.Equal(t, int64(16), plan.Before)
	require.Equal(t, int64(6), plan.After)
	require.Equal(t, int64(6), plan.Bound)
	require.Zero(t, plan.Gap())
	require.Equal(t, 8, plan.Moves())
}

// With two moves one of two nodes with two pods each is emptied, with one move none.
func TestMaxMoves(t *testing.T) {
	w := &world{}
	for _, n := range []string{"n1", "n2", "n3"} {
		w.node(n, "a", "cpu=8")
	}
	w.app("web", "cpu=1", "n1 n1 n2 n2 n3 n3 n3", nil)
	for most, after := range map[int]int64{0: 1, 1: 3, 2: 2, 3: 2, 4: 1} {
		plan := w.plan(t, Options{Steps: 50, MaxMoves: most})
		require.Equal(t, after, plan.After, "at most %d moves", most)
		if most > 0 {
			require.LessOrEqual(t, plan.Moves(), most)
		}
	}
}
