package preemption_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
)

// TestOptions checks the options that v1.36 does not have.
func TestOptions(t *testing.T) {
	type options = preemption.Options
	p := pod("p", 10, "2", "").Obj()
	strict := options{NeverViolate: true}
	type test struct {
		name, why string
		s         situation
		p         *v1.Pod
		want      string
	}
	testkit.Run(t, []test{
		{
			"eligible", "the hook narrows the victims, and never widens them",
			parts(node("n1", "4"), pod("a", 1, "2", "n1").Obj(), pod("b", 2, "2", "n1").Obj(), pod("c", 99, "0", "n1").Obj()).with(options{
				Eligible: func(_ int, victim, _ *v1.Pod) bool { return victim.Name != "a" },
			}), p, "n1: b",
		},
		{
			"no pod is eligible", "no victims",
			parts(node("n1", "4"), pod("a", 1, "4", "n1").Obj()).with(options{Eligible: func(int, *v1.Pod, *v1.Pod) bool { return false }}), p, none,
		},
		{
			"own order", "by name: b is more important than a",
			parts(node("n1", "4"), pod("a", 5, "2", "n1").Obj(), pod("b", 1, "2", "n1").Obj()).with(options{
				MoreImportant: func(a, b *v1.Pod) bool { return a.Name > b.Name },
			}), p, "n1: a",
		},
		{
			"own scores", "replace the criteria",
			parts(node("n1", "4"), node("n2", "4"), pod("a", 1, "4", "n1").Obj(), pod("b", 9, "4", "n2").Obj()).with(options{
				Scores: []func(preemption.Candidate) int64{func(c preemption.Candidate) int64 { return int64(preemption.Priority(c.Victims[0].Pod)) }},
			}), p, "n2: b",
		},
		{
			"equal own scores", "the name decides, and no criterion that the scores replace",
			parts(node("n1", "4"), node("n2", "4"), pod("a", 9, "4", "n1").Obj(), pod("b", 1, "4", "n2").Obj()).with(options{
				Scores: []func(preemption.Candidate) int64{func(preemption.Candidate) int64 { return 0 }},
			}), p, "n1: a",
		},
		{
			"nil scores", "the criteria decide",
			parts(node("n1", "4"), node("n2", "4"), pod("a", 9, "4", "n1").Obj(), pod("b", 1, "4", "n2").Obj()).with(options{
				Scores: []func(preemption.Candidate) int64{nil, nil},
			}), p, "n2: b",
		},
		{
			"never violate", "the only victim is protected",
			parts(node("n1", "4"), pod("a", 1, "4", "n1").Labels("app=x").Obj(), budget("x", "app=x", 0)).with(strict), p,
			"Unschedulable, clear: 0/1 nodes are available: 1 disruption budgets leave too few preemption victims.",
		},
		{
			"never violate where none need be", "the same victims as without",
			parts(node("n1", "4"), pod("hi", 9, "2", "n1").Obj(), pod("lo", 1, "2", "n1").Labels("app=x").Obj(), budget("x", "app=x", 0)).with(strict), p, "n1: hi",
		},
		{
			"never violate, the least important draws", "b is needed, a is not",
			parts(node("n1", "3"), pod("a", 3, "1", "n1").Labels("app=x").Obj(), pod("b", 2, "2", "n1").Labels("app=x").Obj(), budget("x", "app=x", 1)).with(strict), p, "n1: b",
		},
		{
			"never violate, the most important draws", "the unit would be wasted on the small d; b may not leave and draws nothing",
			parts(node("n1", "4"), pod("b", 3, "1", "n1").Labels("app=y,x=x").Obj(), pod("c", 2, "2", "n1").Labels("app=y").Obj(), pod("d", 1, "1", "n1").Labels("app=y").Obj(),
				budget("x", "x=x", 0), budget("y", "app=y", 1)).with(strict), p, "n1: c",
		},
		{
			"unit", "pods that leave together: b alone would be enough",
			unitSituation(nil), p, "n1: a b",
		},
		{
			"unit with a member that must stay", "none leaves",
			parts(node("n1", "4"), pod("a", 11, "2", "n1").Obj(), pod("b", 1, "2", "n1").Obj()).with(options{Units: []preemption.Unit{{Pods: []*v1.Pod{pod("a", 11, "2", "").Obj(), pod("b", 1, "2", "").Obj()}}}}),
			p, none,
		},
		{"unit of a high priority", "is no victim", unitSituation(priority(10)), p, none},
		{
			"unit across nodes", "its pods on other nodes leave too",
			parts(node("n1", "4"), node("n2", "4"), pod("a", 1, "4", "n1").Obj(), pod("b", 1, "4", "n2").Obj(), pod("c", 5, "0", "n2").Obj()).with(options{
				Units: []preemption.Unit{{Pods: []*v1.Pod{pod("a", 1, "4", "").Obj(), pod("b", 1, "4", "").Obj()}}},
			}), p, "n1: a b",
		},
		{"cross-node", "Q leaves its node, the pod takes the other", crossNode("2").with(options{CrossNode: &preemption.CrossNode{}}), crossNodePod(), "n: q"},
		{
			"cross-node prefers local victims", "fewest victims on other nodes",
			crossNode("4").with(options{CrossNode: &preemption.CrossNode{}}), crossNodePod(), "m: q",
		},
		{
			"cross-node beyond the bound", "the node is left out",
			func() situation {
				s := crossNode("2").with(options{CrossNode: &preemption.CrossNode{Max: 1}})
				s.pods = append(s.pods, pod("q2", 1, "1", "m").Labels("app=q").Obj())
				return s
			}(), crossNodePod(),
			"Unschedulable, clear: 0/2 nodes are available: 1 Preemption is not helpful for scheduling, 1 more than 1 pods on other nodes may be in the way.",
		},
		{
			"cross-node spread", "the pods of the zone leave from the small node",
			seventeenth("n1b").with(options{CrossNode: &preemption.CrossNode{}}), spreadPod(), "n1: w1 w2",
		},
		{
			"cross-node with a pod that must stay", "nothing helps",
			func() situation {
				s := crossNode("2").with(options{CrossNode: &preemption.CrossNode{}})
				s.pods = []*v1.Pod{pod("q", 10, "1", "m").Labels("app=q").Obj()}
				return s
			}(), crossNodePod(),
			"Unschedulable, clear: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.",
		},
	}, func(t *testing.T, c test) { require.Equal(t, c.want, shown(c.s.preempt(t, c.p))) })
}

func priority(p int32) *int32 { return &p }

func unitSituation(of *int32) situation {
	a, b := pod("a", 2, "2", "n1").Obj(), pod("b", 1, "2", "n1").Obj()
	return parts(node("n1", "4"), a, b).with(preemption.Options{Units: []preemption.Unit{{Pods: []*v1.Pod{a, b}, Priority: of}}})
}

// Victims on other nodes are named with their slots and counted.
func TestForeignVictims(t *testing.T) {
	r := crossNode("2").with(preemption.Options{CrossNode: &preemption.CrossNode{}}).preempt(t, crossNodePod())
	require.Equal(t, 1, r.Foreign)
	require.Equal(t, 1, r.Victims[0].Slot)
	require.Equal(t, 0, r.Slot)
}

// Laws of the options: with NeverViolate no victim breaks a budget. With CrossNode the pod fits after the victims are
// removed. If v1.36 finds victims that break no budget, both options find victims too.
func TestOptionLaws(t *testing.T) {
	strict, across := 0, 0
	for seed := range uint64(600) {
		s, p := chance(rand.New(rand.NewPCG(seed, 5)), true)
		plan, o := s.plan(t)
		if plan.Decide(p, o).Placed() {
			continue
		}
		usual := s.preempt(t, p)
		s.options.NeverViolate = true
		r := s.preempt(t, p)
		require.Zero(t, r.Violations)
		if usual.Outcome == preemption.Success && usual.Violations == 0 {
			require.Equal(t, preemption.Success, r.Outcome)
		}
		if r.Outcome != usual.Outcome {
			strict++
		}
		s.options.NeverViolate, s.options.CrossNode = false, &preemption.CrossNode{}
		r = s.preempt(t, p)
		if usual.Outcome == preemption.Success {
			require.Equal(t, preemption.Success, r.Outcome)
		}
		if r.Outcome != preemption.Success {
			continue
		}
		if r.Outcome != usual.Outcome {
			across++
		}
		after := s
		after.pods = slices.DeleteFunc(slices.Clone(s.pods), func(q *v1.Pod) bool {
			return slices.ContainsFunc(r.Victims, func(v preemption.Victim) bool { return v.Pod == q })
		})
		var stay []*v1.Pod
		for _, q := range after.pods {
			if q.Spec.NodeName == r.Node {
				stay = append(stay, q)
			}
		}
		asked := newOracle(t, s, p)
		asked.s = after
		ok, why := asked.fits(r.Slot, stay)
		require.True(t, ok, "seed %d: %v", seed, why)
	}
	require.Positive(t, strict)
	require.Positive(t, across)
}
