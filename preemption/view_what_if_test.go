package preemption_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
)

// over asks WhatIfOver with the filters of the default profile, compiled again for each question. The filters that skip the pod
// before any pod leaves stay out, as in kube-scheduler.
func over(t *testing.T, s situation, p *v1.Pod) preemption.Result {
	plan, o := s.plan(t)
	asked := newOracle(t, s, p).asked
	c := testkit.NewCluster(s.nodes, s.pods)
	what := preemption.WhatIfOver(c, func(view preemption.Cluster, i int) []string {
		plan, err := placement.New(placement.Rows(view), placement.DefaultProfile())
		require.NoError(t, err)
		for _, r := range plan.Rejections(p, i) {
			if asked[r.Plugin] {
				return r.Reasons
			}
		}
		return nil
	})
	return preemption.Preempt(preemption.Request{Pod: p, Cluster: c, WhatIf: what, Rejections: plan.Prepare(p).Rejections(nil, o),
		Budgets: disruption.NewBudgets(s.budgets, s.empty), Now: now, Options: s.options})
}

// WhatIfOver finds the victims that package placement finds with its trials: pods, budgets, messages.
func TestWhatIfOver(t *testing.T) {
	r := rand.New(rand.NewPCG(64, 2))
	success, rounds := 0, testkit.Rounds(75)
	for range rounds {
		s, p := chance(r, r.IntN(2) == 0)
		s.nominated = nil
		want, got := s.preempt(t, p), over(t, s, p)
		if want.Outcome == preemption.Success {
			success++
		}
		require.Equal(t, shown(want), shown(got))
		require.Equal(t, want.Reasons, got.Reasons)
		require.Equal(t, want.Criterion, got.Criterion)
		require.Len(t, got.Candidates, len(want.Candidates))
		for k := range want.Candidates {
			require.Equal(t, shownCandidate(want.Candidates[k]), shownCandidate(got.Candidates[k]))
		}
	}
	require.Greater(t, success, rounds/8, "situations in which pods leave")
}

// A pod that left is out of the view and comes back, a pod that came is in it, and Reset takes all back. The cluster does not change.
func TestWhatIfOverView(t *testing.T) {
	a, b := pod("a", 1, "1", "n1").Obj(), pod("b", 1, "1", "n1").Obj()
	c := testkit.NewCluster([]*v1.Node{node("n1", "2"), node("n2", "2")}, []*v1.Pod{a, b})
	var seen [][]string
	what := preemption.WhatIfOver(c, func(view preemption.Cluster, i int) []string {
		require.Equal(t, c.Len(), view.Len())
		require.Same(t, c.Node(i), view.Node(i))
		seen = nil
		for k := range view.Len() {
			var names []string
			for p := range view.Pods(k) {
				names = append(names, p.Name)
			}
			seen = append(seen, names)
		}
		var reasons []string
		for _, short := range filter.Lacks(pod("p", 9, "2", "").Obj(), view.Node(i), slices.Collect(view.Pods(i)), filter.FitOptions{}) {
			reasons = append(reasons, short.Reason)
		}
		return reasons
	})
	sees := func(i int, fits bool, want ...[]string) {
		t.Helper()
		answer := what.Check(i)
		require.Equal(t, want, seen)
		require.Equal(t, fits, answer == preemption.Answer{})
		require.NoError(t, what.Err(i, answer))
		reasons, general := what.Reasons(i, answer)
		require.False(t, general, "the caller's texts may differ between slots")
		require.Equal(t, fits, len(reasons) == 0)
	}
	sees(0, false, []string{"a", "b"}, nil)
	what.Remove(a.DeepCopy(), 0)
	sees(0, false, []string{"b"}, nil)
	what.Remove(b, 0)
	sees(0, true, nil, nil)
	what.Add(a, 0)
	what.Add(b, 1)
	sees(1, false, []string{"a"}, []string{"b"})
	what.Reset()
	sees(1, true, []string{"a", "b"}, nil)
	other := pod("a", 1, "1", "n1").Obj()
	other.Namespace = "elsewhere"
	what.Remove(other, 0)
	sees(0, false, []string{"a", "b"}, nil)
}
