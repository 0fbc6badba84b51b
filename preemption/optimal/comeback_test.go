package optimal_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/preemption/optimal"
)

func (s situation) comeback(t testing.TB) (*cluster.Snapshot, *optimal.Comeback) {
	snapshot, err := cluster.New(cluster.Objects{Nodes: s.nodes, Pods: s.pods, PodDisruptionBudgets: s.budgets})
	require.NoError(t, err)
	c, err := optimal.NewComeback(snapshot, placement.Profile{})
	require.NoError(t, err)
	return snapshot, c
}

// web returns a pod of a ReplicaSet, and daemon a pod of a DaemonSet, which is bound to its node.
func web(name string, priority int32, cpu, on string) *v1.Pod {
	return owned(running(name, priority, cpu, on), "ReplicaSet", "web")
}

func daemon(name string, priority int32, cpu, on string) *v1.Pod {
	p := owned(running(name, priority, cpu, on), "DaemonSet", "daemon")
	p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
		NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{on}}}}},
	}}}
	return p
}

// Victims that find another place are preferred, and pods of DaemonSets are avoided, when the order asks for the cost.
func TestCost(t *testing.T) {
	costs := optimal.Costs{Homeless: 1, DaemonSet: 10}
	order := []optimal.Criterion{optimal.Violations, optimal.Cost, optimal.HighestPriority, optimal.PrioritySum}
	type test struct {
		name, why string
		s         situation
		plain     string // without the cost
		want      string
	}
	full := func(cpu string) []*v1.Node { return []*v1.Node{node("n1", "4"), node("n2", cpu)} }
	big := testkit.Pod("p").Priority(100).Request("cpu=2").Obj()
	only := testkit.Pod("p").Priority(100).Request("cpu=2").NodeSelector(v1.LabelHostname + "=n1").Obj()
	bound := func(p *v1.Pod) *v1.Pod {
		p.Spec.NodeSelector = only.Spec.NodeSelector
		return p
	}
	testkit.Run(t, []test{
		{"a place elsewhere", "a may run on n1 only; b of higher priority finds n2", situation{nodes: full("2"), pod: only, pods: []*v1.Pod{
			bound(web("a", 1, "2", "n1")), web("b", 5, "2", "n1"),
		}}, "n1: a", "n1: b"},
		{"no place elsewhere", "n2 is too small for either, so that the priority decides", situation{nodes: full("1"), pod: only, pods: []*v1.Pod{
			web("a", 1, "2", "n1"), web("b", 5, "2", "n1"),
		}}, "n1: a", "n1: a"},
		{"a pod without controller", "nobody makes a again", situation{nodes: full("1"), pod: big, pods: []*v1.Pod{
			running("a", 1, "2", "n1").Obj(), daemon("d", 0, "2", "n1"),
		}}, "n1: d", "n1: a"},
		{"a DaemonSet", "d never comes back", situation{nodes: []*v1.Node{node("n1", "4"), node("n2", "4")}, pod: testkit.Pod("p").Priority(100).Request("cpu=4").Obj(), pods: []*v1.Pod{
			daemon("d", 1, "1", "n1"), web("b", 5, "3", "n2"), web("c", 5, "1", "n2"),
		}}, "n1: d", "n2: b c"},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.plain, shown(c.s.preempt(t, search(t, optimal.Options{}).Options(preemption.Options{}))))
		_, back := c.s.comeback(t)
		require.Equal(t, c.want, shown(c.s.preempt(t, search(t, optimal.Options{Order: order, Cost: back.Cost(costs)}).Options(preemption.Options{}))))
	})
}

// Cost decides about each victim alone, and again after the cluster has changed.
func TestCostChanges(t *testing.T) {
	s := situation{nodes: []*v1.Node{node("n1", "4"), node("n2", "2")}, pods: []*v1.Pod{web("a", 1, "2", "n1"), web("b", 1, "2", "n1")}}
	snapshot, back := s.comeback(t)
	cost := back.Cost(optimal.Costs{Homeless: 7, DaemonSet: 9})
	at := func(p *v1.Pod) preemption.Placed { return preemption.Placed{Pod: p, Slot: snapshot.Slot("n1")} }
	require.Zero(t, cost(at(s.pods[0])))
	require.Zero(t, cost(at(s.pods[1])), "n2 has room for either")
	require.NoError(t, snapshot.Assume(testkit.Pod("new").Request("cpu=1").Obj(), snapshot.Slot("n2")))
	require.EqualValues(t, 7, cost(at(s.pods[0])))
	require.EqualValues(t, 9, cost(at(daemon("d", 1, "1", "n1"))))
	require.EqualValues(t, 7, cost(at(web("unknown", 1, "1", "n1"))), "not in the cluster")
	nowhere := daemon("nowhere", 1, "1", "n1")
	nowhere.OwnerReferences[0].Kind = "ReplicaSet"
	term := &nowhere.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0]
	term.MatchFields = append(term.MatchFields, v1.NodeSelectorRequirement{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"n2"}})
	require.NoError(t, snapshot.Assume(nowhere, snapshot.Slot("n1")))
	require.EqualValues(t, 7, cost(at(nowhere)), "no node has two names")
	require.EqualValues(t, 7, cost(preemption.Placed{Pod: running("x", 1, "1", "n1").Obj()}), "no controller")
}

// After names the fate of each victim.
func TestAfter(t *testing.T) {
	type test struct {
		name, why string
		s         situation
		want      []string
	}
	big := testkit.Pod("p").Priority(100).Request("cpu=4").Obj()
	testkit.Run(t, []test{
		{"moves", "n2 has room", situation{nodes: []*v1.Node{node("n1", "4"), node("n2", "3")}, pod: big, pods: []*v1.Pod{web("a", 1, "2", "n1")}},
			[]string{"a moves n2 by p"}},
		{"two for one place", "the victim of higher priority gets it", situation{nodes: []*v1.Node{node("n1", "4"), node("n2", "3")}, pod: big, pods: []*v1.Pod{
			web("a", 1, "2", "n1"), web("b", 2, "2", "n1"),
		}}, []string{"b moves n2 by p", "a starves  by p: 0/2 nodes are available: 2 Insufficient cpu."}},
		{"a cascade", "b takes the place of c, which starves", situation{nodes: []*v1.Node{node("n1", "4"), node("n2", "3")}, pod: big, pods: []*v1.Pod{
			web("b", 2, "2", "n1"), web("c", 1, "3", "n2"),
		}}, []string{"b preempts n2 by p", "c starves  by b: 0/2 nodes are available: 2 Insufficient cpu."}},
		{"lost", "a has no controller", situation{nodes: []*v1.Node{node("n1", "4")}, pod: big, pods: []*v1.Pod{running("a", 1, "2", "n1").Obj()}},
			[]string{"a lost  by p"}},
		{"a DaemonSet", "d belongs to n1, which p has taken", situation{nodes: []*v1.Node{node("n1", "4"), node("n2", "3")}, pod: big, pods: []*v1.Pod{daemon("d", 1, "1", "n1")}},
			[]string{"d starves  by p: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeAffinity]."}},
	}, func(t *testing.T, c test) {
		r := c.s.preempt(t, search(t, optimal.Options{}).Options(preemption.Options{}))
		require.Equal(t, preemption.Success, r.Outcome)
		snapshot, back := c.s.comeback(t)
		for range 2 { // nothing is left of the first answer
			version := snapshot.Version()
			all, err := back.After(c.s.pod, r.Candidate, placement.PreemptOptions{Budgets: disruption.NewBudgets(nil, disruption.BudgetOptions{}), Now: now})
			require.NoError(t, err)
			require.Equal(t, version, snapshot.Version())
			var got []string
			for _, x := range all {
				line := fmt.Sprintf("%s %s %s by %s", x.Pod.Name, x.Fate, x.Node, x.By.Name)
				if x.Why != "" {
					line += ": " + x.Why
				}
				got = append(got, line)
			}
			require.Equal(t, c.want, got)
		}
	})
}

// A Comeback needs a snapshot and a valid profile, and victims that run.
func TestComebackErrors(t *testing.T) {
	_, err := optimal.NewComeback(nil, placement.Profile{})
	require.EqualError(t, err, "optimal: snapshot: required")
	s := situation{nodes: []*v1.Node{node("n1", "4")}, pods: []*v1.Pod{web("a", 1, "2", "n1")}}
	snapshot, back := s.comeback(t)
	_, err = optimal.NewComeback(snapshot, placement.Profile{Devices: tracker.New(snapshot, tracker.Of(snapshot))})
	require.ErrorContains(t, err, "profile.Devices: Forbidden")
	unknown := preemption.Candidate{Victims: []preemption.Victim{{Placed: preemption.Placed{Pod: web("b", 1, "1", "n1")}}}}
	_, err = back.After(testkit.Pod("p").Obj(), unknown, placement.PreemptOptions{})
	require.Error(t, err)
	_, err = back.After(s.pods[0], preemption.Candidate{}, placement.PreemptOptions{})
	require.ErrorIs(t, err, cluster.ErrPlaced)
}
