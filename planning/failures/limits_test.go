package failures

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// A plugin that contradicts itself lets a pod displace another without end: the pod may go to the node as long as nothing is
// nominated. An error ends the scenario.
func TestPodsThatDisplaceEachOther(t *testing.T) {
	w := &world{}
	w.objects.Nodes = []*v1.Node{testkit.Node("n1").Capacity("cpu=1").Obj(), testkit.Node("n2").Capacity("cpu=1").Obj()}
	w.class("high", 1000)
	w.app("web", "cpu=1", "n1", classed("high"))
	w.app("full", "cpu=1", "n2", nil)
	w.in.Profile = placement.DefaultProfile()
	w.in.Profile.Filters = append(slices.Clone(w.in.Profile.Filters), &placement.Plugin{Name: "Never", Filter: func(pod *v1.Pod, _ placement.Cluster) placement.PreFiltered {
		if pod.Status.NominatedNodeName != "" {
			return placement.PreFiltered{Code: filter.Unschedulable, Reasons: []string{"changed its mind"}}
		}
		return placement.PreFiltered{Code: filter.Skip}
	}})
	p := w.planner(t)
	attempts := 0
	results, err := p.Run(p.Nodes()[:1], Options{Observe: func(_ int, a Attempt) {
		if a.Pod.Name == "web-0" && a.Pod.Status.NominatedNodeName == "" {
			attempts++
		}
	}})
	require.EqualError(t, err, `scenario "n1": pod default/web-0: pods displace each other without end`)
	require.ErrorIs(t, err, errLoop)
	require.Nil(t, results)
	require.Equal(t, 10000, attempts)
}

// Preemption gets the same index of budgets until a pod of a budget comes or leaves.
func TestBudgetsOfPreemption(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n2", nil)
	w.app("free", "cpu=1", "n3", nil)
	w.budget("web", "web", 1)
	x := w.planner(t).take()
	x.scene = scene{healthy: x.healthyBefore()}
	first := x.preemptionBudgets()
	require.Same(t, first, x.preemptionBudgets())
	x.count(w.objects.Pods[2], -1)
	require.Same(t, first, x.preemptionBudgets(), "no budget selects the pod")
	x.count(w.objects.Pods[0], -1)
	require.NotSame(t, first, x.preemptionBudgets())
}
