package preemption_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/resources"
)

// reprieve is a Searcher that searches as v1.36 does.
type reprieve struct {
	t      *testing.T
	begun  int
	summed *int // how often Left gave a sum
}

func (s *reprieve) Begin()                             { s.begun++ }
func (s *reprieve) Exclude(p *preemption.Problem) bool { require.Empty(s.t, p.Groups); return false }

func (s *reprieve) Solve(p *preemption.Problem) []bool {
	s.checkSums(p)
	change := func(g preemption.Group, f func(*v1.Pod, int)) {
		for _, x := range g.Pods {
			f(x.Pod, x.Slot)
		}
	}
	violates := make([]bool, len(p.Groups))
	for k, g := range p.Groups {
		if k > 0 {
			require.GreaterOrEqual(s.t, p.Groups[k-1].Priority, g.Priority, "most important first")
		}
		require.NotEmpty(s.t, g.Pods)
		change(g, p.WhatIf.Remove)
		for _, x := range g.Pods {
			if p.Ledger != nil && p.Ledger.Take(p.Matches(x.Pod), x.Pod.Name) {
				violates[k] = true
			} else if p.Ledger == nil {
				require.Empty(s.t, p.Matches(x.Pod))
			}
		}
	}
	if p.WhatIf.Check(p.Slot).Verdict != 0 {
		return nil
	}
	leave := make([]bool, len(p.Groups))
	for _, violating := range []bool{true, false} {
		for k, g := range p.Groups {
			if violates[k] != violating {
				continue
			}
			change(g, p.WhatIf.Add)
			if leave[k] = p.WhatIf.Check(p.Slot).Verdict != 0; leave[k] {
				change(g, p.WhatIf.Remove)
			}
		}
	}
	return leave // the changes and draws are the caller's to take back
}

// checkSums checks what Left says without the pods of lower priorities.
func (s *reprieve) checkSums(p *preemption.Problem) {
	for q := range p.Cluster.Pods(p.Slot) {
		_, counts := p.Cluster.(interface {
			PodRequests(p *v1.Pod) (resources.Vector, bool)
		})
		_, ok := p.Requests(q)
		require.Equal(s.t, counts, ok)
	}
	for range 2 { // the first question may go unanswered
		for priority := int32(-3); priority < 7; priority++ {
			got, ok := p.Left(priority)
			if !ok {
				continue
			}
			*s.summed++
			var want resources.Vector
			for q := range p.Cluster.Pods(p.Slot) {
				if preemption.Priority(q) < priority {
					continue
				}
				v, ok := p.Requests(q)
				require.True(s.t, ok)
				want = want.Grow(len(v))
				want.Add(v)
			}
			require.Equal(s.t, want, got.Grow(len(want))[:len(want)], "priority %d", priority)
		}
	}
}

// With a Searcher that searches as v1.36 does, every node has the victims of v1.36. Only pods that leave draw from the budgets then, so
// that fewer victims may break a budget, and another node may be chosen.
func TestSearcher(t *testing.T) {
	found, summed := 0, 0
	for seed := range uint64(400) {
		s, p := chance(rand.New(rand.NewPCG(seed, 17)), seed%2 == 0)
		s.options = preemption.Options{} // every node is tried
		plan, o := s.plan(t)
		if plan.Decide(p, o).Placed() {
			continue
		}
		for _, s.bare = range []bool{false, true} {
			want := s.preempt(t, p)
			search := &reprieve{t: t, summed: &summed}
			s.options.Search = search
			got := s.preempt(t, p)
			s.options.Search = nil
			require.Equal(t, want.Outcome, got.Outcome, "seed %d", seed)
			require.Equal(t, want.Message, got.Message, "seed %d", seed)
			require.Equal(t, victimsOf(want), victimsOf(got), "seed %d", seed)
			if want.Outcome == preemption.Success {
				require.Equal(t, 1, search.begun)
				found++
			}
		}
	}
	require.Greater(t, found, 200)
	require.Greater(t, summed, 200)
}

// victimsOf returns the names of the victims by node, in alphabetical order.
func victimsOf(r preemption.Result) map[string][]string {
	out := map[string][]string{}
	for _, c := range r.Candidates {
		for _, v := range c.Victims {
			out[c.Node] = append(out[c.Node], v.Pod.Name)
		}
		slices.Sort(out[c.Node])
	}
	return out
}

// A Searcher may find no victims where v1.36 does, name too few groups, and exclude nodes.
func TestSearcherRefuses(t *testing.T) {
	s := parts(node("n1", "4"), node("n2", "4"), pod("a", 1, "4", "n1").Obj(), pod("b", 2, "4", "n2").Obj())
	p := pod("p", 10, "4", "").Obj()
	search := func(exclude func(*preemption.Problem) bool, solve func(*preemption.Problem) []bool) string {
		s.options.Search = asked{exclude, solve}
		return shown(s.preempt(t, p))
	}
	never := func(*preemption.Problem) bool { return false }
	require.Equal(t, "Unschedulable, clear: 0/2 nodes are available: 2 no acceptable preemption victims.", search(never, func(*preemption.Problem) []bool { return nil }))
	require.Equal(t, "n2: b", search(never, func(p *preemption.Problem) []bool { return []bool{p.Slot == 1} }))
	few := int32(0)
	s.options.Candidates = preemption.CandidateArgs{MinPercentage: &few, MinAbsolute: &few}
	tried := 0
	search(never, func(*preemption.Problem) []bool { tried++; return []bool{true} })
	require.Equal(t, 2, tried, "every node is tried, whatever number is enough for v1.36")
	require.Equal(t, "n2: b", search(func(p *preemption.Problem) bool { return p.Slot == 0 }, func(p *preemption.Problem) []bool { return []bool{true, true, true} }))
}

// Only the groups that leave draw from the budgets: the group that stays would have drawn the only disruption.
func TestSearcherBudgets(t *testing.T) {
	s := parts(node("n1", "4"), pod("a", 2, "4", "n1").Labels("app=shop").Obj(), pod("b", 1, "0", "n1").Labels("app=shop").Obj(), budget("shop", "app=shop", 1))
	p := pod("p", 10, "0", "").Labels("x=y").Obj()
	s.nodes[0].Status.Allocatable["pods"] = testkit.Resources("pods=2")["pods"]
	s.options.Search = asked{func(*preemption.Problem) bool { return false }, func(p *preemption.Problem) []bool {
		require.Equal(t, "a", p.Groups[0].Pods[0].Pod.Name)
		return []bool{false, true}
	}}
	r := s.preempt(t, p)
	require.Equal(t, "n1: b", shown(r))
	require.Zero(t, r.Candidates[0].Violations)
}

type asked struct {
	exclude func(*preemption.Problem) bool
	solve   func(*preemption.Problem) []bool
}

func (asked) Begin()                               {}
func (a asked) Exclude(p *preemption.Problem) bool { return a.exclude(p) }
func (a asked) Solve(p *preemption.Problem) []bool { return a.solve(p) }

// Preemptors of one kind that come again and again get the answers of a new plan, whatever changed in between: pods, nodes, budgets,
// the time.
func TestPreemptorsOfOneKind(t *testing.T) {
	asked, found := 0, 0
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 23))
		s, p := chance(r, seed%3 == 0)
		s.nominated = nil
		snapshot, err := cluster.New(cluster.Objects{Nodes: s.nodes, Pods: s.pods})
		require.NoError(t, err)
		plan, err := placement.New(snapshot, placement.DefaultProfile())
		require.NoError(t, err)
		budgets, running := disruption.NewBudgets(s.budgets, s.empty), s.pods
		for k := range 30 {
			po := placement.PreemptOptions{Budgets: budgets, Now: testkit.Epoch.Add(time.Duration(r.IntN(6)) * time.Minute), Options: preemption.Options{Offset: r.IntN(3)}}
			if r.IntN(6) == 0 {
				po.Options.NeverViolate = true
			}
			q := p.DeepCopy()
			q.Name, q.UID = q.Name+string(rune('a'+k%26)), ""
			d := plan.Decide(q, placement.Options{})
			if !d.Placed() {
				fresh, err := placement.New(snapshot, placement.DefaultProfile())
				require.NoError(t, err)
				got := plan.Preempt(q, d.Failure, placement.Options{}, po)
				require.Equal(t, fresh.Preempt(q, nil, placement.Options{}, po), got, "seed %d, question %d", seed, k)
				if asked++; got.Outcome == preemption.Success {
					found++
				}
			}
			switch n := r.IntN(10); {
			case n == 0 && len(running) > 0:
				running = oneLeaves(t, r, snapshot, running)
			case n == 1:
				again := s.nodes[r.IntN(len(s.nodes))].DeepCopy()
				again.Spec.Unschedulable = r.IntN(2) == 0
				require.NoError(t, snapshot.Set(again))
			case n == 2:
				fresh, _ := chance(r, false)
				budgets = disruption.NewBudgets(fresh.budgets, fresh.empty)
			case n < 5:
				b := pod("more"+string(rune('a'+k)), int32(r.IntN(4)), "1", "").Labels("app=x")
				x := b.Obj()
				if r.IntN(2) == 0 {
					x = started(b, r.IntN(6))
				}
				require.NoError(t, snapshot.Assume(x, snapshot.Slot(s.nodes[r.IntN(len(s.nodes))].Name)))
				running = append(running, x)
			}
		}
	}
	require.Greater(t, found, 300)
	require.Greater(t, asked, found+300, "both outcomes occur")
}

// Eligible is asked about each pod of a unit, and about none with the preemptor in its place.
func TestEligibleUnits(t *testing.T) {
	p := pod("p", 10, "2", "").Obj()
	for refused, want := range map[string]string{"": "n1: a b", "a": none, "b": none} {
		s := unitSituation(nil)
		s.options.Eligible = func(_ int, victim, preemptor *v1.Pod) bool {
			require.Equal(t, "p", preemptor.Name)
			return victim.Name != refused
		}
		require.Equal(t, want, shown(s.preempt(t, p)), "%q must stay", refused)
	}
}

// A preemptor waits for a terminating pod on its nominated node only if the pod may be a victim.
func TestEligibleWaits(t *testing.T) {
	p := nominatedTo(pod("p", 10, "4", ""), "n1")
	for refused, want := range map[string]string{"nobody": waiting, "a": "n1: b"} {
		s := parts(node("n1", "4"), preempted(pod("a", 1, "0", "n1")), pod("b", 1, "4", "n1").Obj())
		s.options.Eligible = func(i int, victim, preemptor *v1.Pod) bool {
			require.Zero(t, i)
			require.Same(t, p, preemptor)
			return victim.Name != refused
		}
		require.Equal(t, want, shown(s.preempt(t, p)), refused)
	}
}

// A Searcher with CrossNode and no Foreign searches the pods of the node alone.
func TestSearcherWithoutForeign(t *testing.T) {
	s := parts(node("n1", "4"), pod("a", 1, "4", "n1").Obj())
	plan, o := s.plan(t)
	p := pod("p", 10, "4", "").Obj()
	a := plan.Prepare(p)
	c, err := cluster.New(cluster.Objects{Nodes: s.nodes, Pods: s.pods})
	require.NoError(t, err)
	r := preemption.Request{Pod: p, Cluster: c, WhatIf: a.WhatIf(o), Rejections: a.Rejections(nil, o), Now: now}
	r.Options.CrossNode = &preemption.CrossNode{}
	require.Equal(t, "n1: a", shown(preemption.Preempt(r)))
	r.Options.Search = asked{func(*preemption.Problem) bool { return false }, func(p *preemption.Problem) []bool {
		require.Len(t, p.Groups, 1)
		return []bool{true}
	}}
	require.Equal(t, "n1: a", shown(preemption.Preempt(r)))
}

// The limits themselves are allowed: as many pods of other nodes as the limit, and all nodes as candidates.
func TestLimitsAreAllowed(t *testing.T) {
	r := crossNode("2").with(preemption.Options{CrossNode: &preemption.CrossNode{Max: 1}}).preempt(t, crossNodePod())
	require.Equal(t, preemption.Success, r.Outcome)
	for percentage, wrong := range map[int32]int{0: 0, 100: 0, 101: 1, -1: 1} {
		one := int32(1)
		require.Len(t, preemption.CandidateArgs{MinPercentage: &percentage, MinAbsolute: &one}.Validate(nil), wrong, "%d", percentage)
	}
	p := pod("p", 10, "4", "").Obj()
	found := parts(node("n1", "4"), pod("v", 1, "4", "n1").Obj()).preempt(t, p)
	b, a := pod("z/b", 1, "1", "").Obj(), pod("z/a", 1, "1", "").Obj()
	require.Equal(t, []*v1.Pod{a, b}, found.Actions(p, []*v1.Pod{b, a}).ClearNominations)
}
