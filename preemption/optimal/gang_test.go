package optimal_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/preemption/optimal"
)

func (s situation) gang(t testing.TB, pods ...*v1.Pod) optimal.Gang {
	snapshot, err := cluster.New(cluster.Objects{Nodes: s.nodes, Pods: s.pods, PodDisruptionBudgets: s.budgets})
	require.NoError(t, err)
	return optimal.Gang{Snapshot: snapshot, Pods: pods, Now: now}
}

func shownGang(p optimal.GangPlan) string {
	if !p.Placed {
		return p.Message
	}
	var names []string
	for _, v := range p.Victims {
		name := v.Pod.Name
		if v.Violates {
			name += "!"
		}
		names = append(names, name)
	}
	return strings.Join(p.Nodes, " ") + ": " + strings.Join(names, " ")
}

// polite returns the pod with preemptionPolicy Never.
func polite(p *v1.Pod) *v1.Pod {
	never := v1.PreemptNever
	p.Spec.PreemptionPolicy = &never
	return p
}

func TestPlaceGang(t *testing.T) {
	member := func(name, cpu string) testkit.PodBuilder {
		return testkit.Pod(name).Labels("app=gang").Priority(100).Request("cpu=" + cpu)
	}
	two := []*v1.Node{node("n1", "4"), node("n2", "4")}
	type test struct {
		name, why string
		s         situation
		gang      []*v1.Pod
		o         optimal.Options
		want      string
	}
	testkit.Run(t, []test{
		{"room for all", "no victims", situation{nodes: two}, []*v1.Pod{member("g1", "4").Obj(), member("g2", "4").Obj()}, optimal.Options{}, "n1 n2: "},
		{"victims on both nodes", "each pod needs a whole node", situation{nodes: two, pods: []*v1.Pod{running("a", 1, "1", "n1").Obj(), running("b", 1, "1", "n2").Obj()}},
			[]*v1.Pod{member("g1", "4").Obj(), member("g2", "4").Obj()}, optimal.Options{}, "n1 n2: a b"},
		{"none alone", "the second pod finds no place, so that nobody leaves for the first", situation{nodes: two, pods: []*v1.Pod{running("a", 1, "1", "n1").Obj(), running("b", 200, "1", "n2").Obj()}},
			[]*v1.Pod{member("g1", "4").Obj(), member("g2", "4").Obj()}, optimal.Options{}, "0/2 nodes are available: 2 Insufficient cpu."},
		{"apart", "the pods of the gang must not share a node", situation{nodes: two, pods: []*v1.Pod{running("a", 1, "3", "n1").Obj(), running("b", 1, "3", "n2").Obj()}},
			[]*v1.Pod{member("g1", "2").RequireApart(hostKey, "app=gang").Obj(), member("g2", "2").RequireApart(hostKey, "app=gang").Obj()}, optimal.Options{}, "n1 n2: a b"},
		{"the order of priorities", "g2 is more important and goes first", situation{nodes: two, pods: []*v1.Pod{running("a", 1, "4", "n1").Obj()}},
			[]*v1.Pod{member("g1", "4").Obj(), member("g2", "4").Priority(200).Obj()}, optimal.Options{}, "n1 n2: a"},
		{"a budget", "the budget allows one disruption, and the second pod takes another victim", situation{
			nodes: []*v1.Node{node("n1", "4"), node("n2", "4"), node("n3", "4")}, budgets: []*policyv1.PodDisruptionBudget{protected("app=x", 1)},
			pods: []*v1.Pod{running("a", 1, "4", "n1").Labels("app=x").Obj(), running("b", 1, "4", "n2").Labels("app=x").Obj(), running("c", 9, "4", "n3").Obj()},
		}, []*v1.Pod{member("g1", "4").Obj(), member("g2", "4").Obj()}, optimal.Options{}, "n1 n3: c a"},
		{"binding budgets", "two victims break the budget", situation{nodes: two, budgets: []*policyv1.PodDisruptionBudget{protected("app=x", 1)},
			pods: []*v1.Pod{running("a", 1, "4", "n1").Labels("app=x").Obj(), running("b", 1, "4", "n2").Labels("app=x").Obj()}},
			[]*v1.Pod{member("g1", "4").Obj(), member("g2", "4").Obj()}, optimal.Options{NeverViolate: true}, "no acceptable preemption victims"},
		{"a quorum", "one pod of db may leave in all", situation{nodes: []*v1.Node{node("n1", "4"), node("n2", "4"), node("n3", "4")},
			pods: []*v1.Pod{owned(running("db-0", 1, "4", "n1"), "StatefulSet", "db"), owned(running("db-1", 1, "4", "n2"), "StatefulSet", "db"), running("c", 9, "4", "n3").Obj()}},
			[]*v1.Pod{member("g1", "4").Obj(), member("g2", "4").Obj()}, optimal.Options{Quorum: func(p *v1.Pod) (string, int) { return p.GenerateName, 1 }}, "n1 n3: c db-0"},
		{"a pod that must not preempt", "a leaves for g1; g2 needs no victim", situation{nodes: two, pods: []*v1.Pod{running("a", 1, "2", "n1").Obj(), running("b", 1, "1", "n2").Obj()}},
			[]*v1.Pod{member("g1", "4").Obj(), polite(member("g2", "2").Obj())}, optimal.Options{}, "n1 n2: a"},
		{"nobody leaves for a polite pod", "both nodes are full", situation{nodes: two, pods: []*v1.Pod{running("a", 1, "4", "n1").Obj(), running("b", 1, "4", "n2").Obj()}},
			[]*v1.Pod{polite(member("g1", "4").Obj())}, optimal.Options{}, "0/2 nodes are available: 2 Insufficient cpu."},
		{"an empty gang", "nothing to do", situation{nodes: two}, nil, optimal.Options{}, ": "},
	}, func(t *testing.T, c test) {
		p, err := optimal.PlaceGang(c.s.gang(t, c.gang...), c.o)
		require.NoError(t, err)
		require.Equal(t, c.want, shownGang(p))
		require.Equal(t, p.Placed, p.Minimal)
	})
}

// g1 goes to n1, where g2 has no room beside it. Without pods of lower priority both go to n2. The victims are those of n2, also when no
// step is left to ask about the pod of n1. PreemptLowerPriority is the default policy.
func TestGangOnOneNode(t *testing.T) {
	lower := v1.PreemptLowerPriority
	g1 := testkit.Pod("g1").Labels("app=gang").Priority(100).Request("cpu=2").Obj()
	g2 := testkit.Pod("g2").Labels("app=gang").Priority(100).Request("cpu=6").RequireWith(hostKey, "app=gang").Obj()
	g1.Spec.PreemptionPolicy, g2.Spec.PreemptionPolicy = &lower, &lower
	s := situation{nodes: []*v1.Node{node("n1", "4"), node("n2", "8")}, pods: []*v1.Pod{running("a", 1, "8", "n2").Obj(), running("b", 1, "1", "n1").Obj()}}
	stopped := false
	for _, c := range []struct {
		o       optimal.Options
		minimal bool
	}{{optimal.Options{}, true}, {optimal.Options{Steps: 2}, false}, {optimal.Options{Steps: 3}, false}, {optimal.Options{Steps: 4}, true}, {optimal.Options{Stop: func() bool { return false }}, true}, {optimal.Options{Stop: func() bool { stopped = true; return true }}, false}} {
		p, err := optimal.PlaceGang(s.gang(t, g1, g2), c.o)
		require.NoError(t, err)
		require.Equal(t, "n2 n2: a", shownGang(p))
		require.Equal(t, c.minimal, p.Minimal, "%d steps", c.o.Steps)
	}
	require.True(t, stopped)
	// One pod of the gang that must not preempt is enough: no pod leaves for the whole gang.
	p, err := optimal.PlaceGang(s.gang(t, polite(g1), g2), optimal.Options{})
	require.NoError(t, err)
	require.False(t, p.Placed)
}

// The gang goes to the node of a, which is not in the way. The last step lets a come back.
func TestGangWithoutVictims(t *testing.T) {
	g1 := testkit.Pod("g1").Labels("app=gang").Priority(100).Request("cpu=2").Obj()
	g2 := testkit.Pod("g2").Labels("app=gang").Priority(100).Request("cpu=6").RequireWith(hostKey, "app=gang").Obj()
	s := situation{nodes: []*v1.Node{node("n1", "4"), node("n2", "8")}, pods: []*v1.Pod{testkit.Pod("a").Request("memory=60Gi").Priority(1).On("n2").Obj()}}
	for steps, want := range map[int]string{2: "n2 n2: a", 3: "n2 n2: "} {
		p, err := optimal.PlaceGang(s.gang(t, g1, g2), optimal.Options{Steps: steps})
		require.NoError(t, err)
		require.Equal(t, want, shownGang(p))
		require.Equal(t, steps == 3, p.Minimal)
	}
}

// A gang that is placed fits without its victims, and no victim can stay. A gang that is not placed does not fit without any pod of lower
// priority.
func TestGangLaws(t *testing.T) {
	placed, left := 0, 0
	for seed := range uint64(testkit.Rounds(*cases)) {
		r := rand.New(rand.NewPCG(seed, 9))
		s := chance(r, seed%2 == 0)
		var pods []*v1.Pod
		for k := range 1 + r.IntN(3) {
			q := s.pod.DeepCopy()
			q.Name = fmt.Sprintf("g%d", k)
			pods = append(pods, q)
		}
		g := s.gang(t, pods...)
		p, err := optimal.PlaceGang(g, optimal.Options{})
		require.NoError(t, err)
		fits := func(gone []preemption.Victim, nodes []string) bool {
			fork := g.Snapshot.Fork()
			for _, v := range gone {
				require.Less(t, preemption.Priority(v.Pod), preemption.Priority(s.pod), "seed %d", seed)
				require.NoError(t, fork.Remove(v.Pod))
			}
			placer, err := placement.NewPlacer(fork, placement.DefaultProfile())
			require.NoError(t, err)
			var nominated []*v1.Pod
			for k, q := range pods {
				q = q.DeepCopy()
				if nodes != nil {
					q.Status.NominatedNodeName = nodes[k]
				}
				nominated = append(nominated, q)
			}
			decisions, err := placer.PlaceAll(nominated, placement.Options{})
			for k, d := range decisions {
				if err == nil && nodes != nil && len(gone) == len(p.Victims) {
					require.Equal(t, nodes[k], d.Node, "seed %d", seed)
				}
			}
			return err == nil
		}
		if !p.Placed {
			var all []preemption.Victim
			for i := range g.Snapshot.Len() {
				for q := range g.Snapshot.Pods(i) {
					if preemption.Priority(q) < preemption.Priority(s.pod) {
						all = append(all, preemption.Victim{Placed: preemption.Placed{Pod: q, Slot: i}})
					}
				}
			}
			require.False(t, fits(all, nil), "seed %d", seed)
			left++
			continue
		}
		placed++
		require.True(t, fits(p.Victims, p.Nodes), "seed %d", seed)
		for k := range p.Victims {
			if p.Minimal {
				require.False(t, fits(slices.Delete(slices.Clone(p.Victims), k, k+1), p.Nodes), "seed %d: %s can stay", seed, p.Victims[k].Pod.Name)
			}
		}
	}
	require.Positive(t, placed)
	require.Positive(t, left)
}

// Input that contradicts itself is an error.
func TestGangErrors(t *testing.T) {
	s := situation{nodes: []*v1.Node{node("n1", "4")}, pods: []*v1.Pod{web("a", 1, "2", "n1")}}
	p := testkit.Pod("p").Obj()
	type test struct {
		name, why string
		pods      []*v1.Pod
		o         optimal.Options
		want      string
	}
	testkit.Run(t, []test{
		{"nil pod", "nobody to place", []*v1.Pod{p, nil}, optimal.Options{}, "optimal: pods[1]: Required value: must not be nil"},
		{"a pod twice", "names are unique", []*v1.Pod{p, p}, optimal.Options{}, `optimal: pods[1]: Duplicate value: "default/p"`},
		{"a pod that runs", "it has a node", []*v1.Pod{s.pods[0]}, optimal.Options{}, `optimal: pods[0]: Duplicate value: "default/a"`},
		{"bad options", "those of New", []*v1.Pod{p}, optimal.Options{Steps: -1}, "steps: must not be negative"},
	}, func(t *testing.T, c test) {
		_, err := optimal.PlaceGang(s.gang(t, c.pods...), c.o)
		require.EqualError(t, err, c.want)
	})
	_, err := optimal.PlaceGang(optimal.Gang{Pods: []*v1.Pod{p}}, optimal.Options{})
	require.EqualError(t, err, "optimal: snapshot: required")
}
