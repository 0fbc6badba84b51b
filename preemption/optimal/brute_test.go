package optimal_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/preemption/optimal"
)

var cases = flag.Int("cases", 150, "situations of each kind that are compared with brute force")

// brute tries every set of groups. It leaves out nodes with more than 12 groups.
type brute struct {
	search *optimal.Search // for the values
	order  []optimal.Criterion
	strict bool                            // no broken budgets
	quorum func(pod *v1.Pod) (string, int) // nil: none
	large  bool                            // a node had too many groups
	fits   func(c preemption.Candidate) bool
}

func (b *brute) Begin() {}

func (b *brute) Exclude(*preemption.Problem) bool { return false }

func (b *brute) Solve(p *preemption.Problem) (best []bool) {
	n := len(p.Groups)
	if n > 12 {
		b.large = true
		return nil
	}
	var least optimal.Values
	for set := 1; set < 1<<n; set++ {
		p.WhatIf.Reset()
		if p.Ledger != nil {
			p.Ledger.Undo(0)
		}
		c := preemption.Candidate{Slot: p.Slot}
		leave := make([]bool, n)
		for k, g := range p.Groups {
			if leave[k] = set>>k&1 == 1; !leave[k] {
				continue
			}
			for _, q := range g.Pods {
				p.WhatIf.Remove(q.Pod, q.Slot)
				c.Victims = append(c.Victims, preemption.Victim{Placed: q})
				if p.Take(p.Matches(q.Pod), q.Pod.Name) {
					c.Violations++
				}
			}
		}
		if p.WhatIf.Check(p.Slot).Verdict != 0 || b.strict && c.Violations > 0 || !kept(b.quorum, c) {
			continue
		}
		if v := b.search.Of(c, now); (best == nil || optimal.Compare(v, least, b.order) < 0) && b.fits(c) {
			best, least = leave, v
		}
	}
	return best
}

// kept reports whether every workload keeps its quorum.
func kept(quorum func(pod *v1.Pod) (string, int), c preemption.Candidate) bool {
	if quorum == nil {
		return true
	}
	left := map[string]int{}
	for _, v := range c.Victims {
		name, leave := quorum(v.Pod)
		if _, ok := left[name]; !ok {
			left[name] = leave
		}
		if left[name]--; name != "" && left[name] < 0 {
			return false
		}
	}
	return true
}

// draw draws options of a search.
func draw(r *rand.Rand) optimal.Options {
	o := optimal.Options{NeverViolate: r.IntN(5) == 0}
	switch r.IntN(6) {
	case 0:
		o.Order = []optimal.Criterion{optimal.Victims, optimal.Violations, optimal.Start}
	case 1:
		o.Order = []optimal.Criterion{optimal.Violations, optimal.Start, optimal.HighestPriority}
	case 2:
		o.Order = []optimal.Criterion{optimal.Cost, optimal.Victims}
		o.Cost = func(v preemption.Placed) int64 { return int64(len(v.Pod.Name)+int(v.Pod.Name[len(v.Pod.Name)-1])) % 3 }
	}
	if leave := r.IntN(4); r.IntN(4) == 0 {
		o.Quorum = func(pod *v1.Pod) (string, int) { return pod.Labels["app"], leave }
	}
	return o
}

// groups makes units as groups of pods do: of some pods together or of single pods, with a priority that is not that of the pods.
func groups(r *rand.Rand, pods []*v1.Pod) (out []preemption.Unit) {
	for from := 0; from < len(pods); {
		to := min(len(pods), from+1+r.IntN(3))
		u := preemption.Unit{Pods: pods[from:to], Kind: podgroup.Kind(r.IntN(3))}
		if r.IntN(3) > 0 {
			u.Priority = new(int32(r.IntN(5) - 2))
		}
		out = append(out, u)
		from = to + r.IntN(2)
	}
	return out
}

// apart reports whether pods of a unit are on several nodes.
func apart(u preemption.Unit) bool {
	return slices.ContainsFunc(u.Pods, func(p *v1.Pod) bool { return p.Spec.NodeName != u.Pods[0].Spec.NodeName })
}

// compare holds the search against brute force and against v1.36's rule.
func compare(t *testing.T, r *rand.Rand, name string, constrained bool) {
	s := chance(r, constrained)
	if r.IntN(3) == 0 {
		s.options.Units = groups(r, s.pods)
	}
	o := draw(r)
	order := o.Order
	if order == nil {
		order = optimal.DefaultOrder()
	}
	with := search(t, o)
	got := s.preempt(t, with.Options(s.options))
	if got == nil {
		return
	}
	b := &brute{search: search(t, o), order: order, strict: o.NeverViolate, quorum: o.Quorum, fits: func(c preemption.Candidate) bool { return s.fits(t, c) }}
	all := b.search.Options(s.options)
	all.Search, all.Scores = b, nil
	for _, c := range order {
		all.Scores = append(all.Scores, func(candidate preemption.Candidate) int64 { return -b.search.Of(candidate, now)[c] })
	}
	want := s.preempt(t, all)
	if b.large {
		return
	}
	require.Equal(t, want.Outcome, got.Outcome, "%s: %s, brute force %s", name, got.Message, want.Message)
	require.True(t, with.Proof().Optimal, "%s", name)
	if want.Outcome != preemption.Success {
		return
	}
	require.Equal(t, want.Node, got.Node, "%s", name)
	require.True(t, s.fits(t, got.Candidate), "%s: the preemptor does not fit without %v", name, got.Victims)
	v := with.Of(got.Candidate, now)
	require.Zero(t, optimal.Compare(with.Of(want.Candidate, now), v, order), "%s: %v, brute force %v", name, v, with.Of(want.Candidate, now))
	require.Zero(t, optimal.Compare(v, with.Proof().Bound, order), "%s", name)
	o136 := s.options
	o136.NeverViolate = o.NeverViolate
	if slices.ContainsFunc(o136.Units, apart) {
		return // v1.37 does not see that pods of other nodes leave
	}
	if plain := s.preempt(t, o136); plain.Outcome == preemption.Success && kept(o.Quorum, plain.Candidate) && s.fits(t, plain.Candidate) {
		require.LessOrEqual(t, optimal.Compare(v, with.Of(plain.Candidate, now), order), 0, "%s: worse than v1.36's victims", name)
	}
}

func TestBruteForce(t *testing.T) {
	for seed := range uint64(testkit.Rounds(*cases)) {
		for _, constrained := range []bool{false, true} {
			compare(t, rand.New(rand.NewPCG(seed, 5)), fmt.Sprint("seed ", seed), constrained)
		}
	}
}

func FuzzSearch(f *testing.F) {
	f.Add(testkit.RandomBytes(1, 200), true)
	f.Fuzz(func(t *testing.T, data []byte, constrained bool) {
		compare(t, rand.New(testkit.NewBytes(data)), "fuzz", constrained)
	})
}
