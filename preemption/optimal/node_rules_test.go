package optimal

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/resources"
)

// A group that alone is no better than the best set is barred for good. The orders are computed again only if another group is barred.
func TestBar(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 21))
	again := map[bool]int{}
	for range 5000 {
		n := randomNode(r)
		n.s.o.NeverViolate = r.IntN(2) == 0
		n.s.order = []Criterion{PrioritySum, Start}
		n.s.best = Values{PrioritySum: 3, Start: 2}
		barred, more := make([]bool, len(n.groups)), false
		for k := range n.groups {
			g := &n.groups[k]
			g.breaks = int64(r.IntN(3) / 2)
			bad := g.values[PrioritySum] > 3 || g.values[PrioritySum] == 3 && n.s.byPriority && g.values[Start] >= 2 || n.s.o.NeverViolate && g.breaks > 0
			more = more || bad && !g.barred
			barred[k] = bad || g.barred
		}
		n.after = slices.Repeat([]int64{math.MaxInt64}, len(n.after))
		n.bar()
		for k := range n.groups {
			require.Equal(t, barred[k], n.groups[k].barred)
		}
		if len(n.lacks) == 0 {
			continue
		}
		require.Equal(t, more, n.after[0] < math.MaxInt64)
		again[more]++
	}
	require.Greater(t, min(again[true], again[false]), 500)
}

// A search begins without a pinned group, on a node and when all sets are to be tried.
func TestNothingIsPinned(t *testing.T) {
	s, err := New(Options{})
	require.NoError(t, err)
	n := &node{pinned: 3}
	n.load(s, &preemption.Problem{})
	require.Equal(t, -1, n.pinned)
	n.pinned, n.rooms = 3, false
	s.proof.Steps, n.forcedBreaks = 7, 5
	require.True(t, n.exhaust())
	require.Equal(t, -1, n.pinned)
	require.Equal(t, 20_007, n.blind)
	require.Zero(t, n.forcedBreaks)
}

// The requests of pods count if the node lacks a resource. One pod of unknown requests is enough to know nothing.
func TestWhatGroupsFree(t *testing.T) {
	c := &measured{used: []resources.Vector{{4, 0}}, offered: []resources.Vector{{4, 4}}}
	var groups []preemption.Group
	for _, name := range []string{"a", "b", "c"} {
		groups = append(groups, preemption.Group{Pods: []preemption.Placed{{Pod: testkit.Pod(name).Obj()}}})
	}
	for _, unknown := range []string{"", "a", "b", "c"} {
		s, err := New(Options{})
		require.NoError(t, err)
		w := &judge{c: c, needs: resources.Vector{3, 3}}
		p := &preemption.Problem{Cluster: c, WhatIf: w, Groups: groups}
		asked := 0
		p.Requests = func(pod *v1.Pod) (resources.Vector, bool) {
			asked++
			return resources.Vector{2, 1}, pod.Name != unknown
		}
		s.node.load(s, p)
		require.Equal(t, 3, asked)
		require.NotEmpty(t, s.left, "the next node uses the memory")
		if unknown == "" {
			require.Equal(t, []int64{3}, s.node.lacks)
			require.Equal(t, []int64{2}, s.node.groups[2].free)
		} else {
			require.Empty(t, s.node.lacks)
			require.Empty(t, s.node.groups[0].free)
		}
		w.needs = resources.Vector{0, 3} // the node lacks nothing
		s.node.load(s, p)
		require.Equal(t, 3, asked)
		require.Empty(t, s.node.lacks)
	}
}

// Nothing more is asked about a group that is in no better set.
func TestBarredGroupsAreNotRead(t *testing.T) {
	pods := []*v1.Pod{testkit.Pod("high").Priority(9).Obj(), testkit.Pod("quorum").Priority(1).Obj(), testkit.Pod("low").Priority(1).Obj()}
	var read, cost []string
	s, err := New(Options{
		Quorum: func(pod *v1.Pod) (string, int) { return map[string]string{"quorum": "w"}[pod.Name], 0 },
		Cost: func(q preemption.Placed) int64 {
			cost = append(cost, q.Pod.Name)
			return 0
		},
	})
	require.NoError(t, err)
	s.limit = 8
	c := &measured{used: []resources.Vector{{4}}, offered: []resources.Vector{{4}}}
	p := &preemption.Problem{Cluster: c, WhatIf: &judge{c: c, needs: resources.Vector{3}}, Requests: func(pod *v1.Pod) (resources.Vector, bool) {
		read = append(read, pod.Name)
		return resources.Vector{2}, true
	}}
	for _, pod := range pods {
		p.Groups = append(p.Groups, preemption.Group{Pods: []preemption.Placed{{Pod: pod}}, Priority: preemption.Priority(pod)})
	}
	s.node.load(s, p)
	for k, want := range []bool{true, true, false} {
		require.Equal(t, want, s.node.groups[k].barred)
	}
	require.Equal(t, []string{"low"}, read)
	require.Equal(t, []string{"low"}, cost)
}

// A search that learns nothing ends behind its last step.
func TestBlind(t *testing.T) {
	s, err := New(Options{})
	require.NoError(t, err)
	n := &node{s: s, blind: 2}
	require.Equal(t, []bool{true, true, false}, []bool{n.branch(0, noVictims), n.branch(0, noVictims), n.branch(0, noVictims)})
}

// A group of the answer that need not leave comes back. The answer says whether there was one.
func TestComeBack(t *testing.T) {
	a, b := testkit.Pod("a").Obj(), testkit.Pod("b").Obj()
	for _, needless := range []bool{true, false} {
		fits := func(out map[*v1.Pod]bool) bool { return out[b] && (needless || out[a]) }
		s, err := New(Options{})
		require.NoError(t, err)
		n := &node{s: s, pinned: -1, p: &preemption.Problem{WhatIf: &trial{out: map[*v1.Pod]bool{}, accepts: fits, settles: fits}, Take: func([]int32, string) bool { return false }, Now: testkit.Epoch}}
		for _, pod := range []*v1.Pod{a, b} {
			n.groups = append(n.groups, group{pods: []preemption.Placed{{Pod: pod}}, matches: [][]int32{nil}})
		}
		n.answer = []bool{true, true}
		require.Equal(t, needless, n.comeBack())
		require.Equal(t, []bool{!needless, true}, n.answer)
	}
}

// Whether a pod of a row breaks a budget is asked as if no other pod left, and once for each ledger.
func TestDrawOfARow(t *testing.T) {
	budget := func(name string, allowed int32) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
		}
	}
	budgets := disruption.NewBudgets([]*policyv1.PodDisruptionBudget{budget("one", 1), budget("none", 0)}, disruption.BudgetOptions{})
	x := &row{pods: make([]rowPod, 4)}
	for k := range x.pods {
		x.pods[k].pod = testkit.Pod("p").Obj()
	}
	asked := 0
	p := &preemption.Problem{Ledger: budgets.Ledger(), Matches: func(pod *v1.Pod) []int32 {
		asked++
		if pod == x.pods[1].pod {
			return []int32{1}
		}
		return []int32{0}
	}}
	p.Take = func(budgets []int32, pod string) bool { return p.Ledger.Take(budgets, pod) }
	p.Ledger.Take([]int32{0}, "other") // of a set that was tried before
	for round := range 3 {
		if round == 2 {
			p.Ledger = budgets.Ledger()
		}
		x.draw(p)
		require.Equal(t, []int{4, 4, 8}[round], asked)
		require.Zero(t, p.Ledger.Mark())
		for k := range x.pods {
			require.Equal(t, k == 1, x.pods[k].breaks)
		}
	}
}
