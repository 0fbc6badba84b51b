package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
)

func Example() {
	main()
	// Output:
	// db-1 goes to n1: total 367
	// web-1 goes to n1: total 337
	// web-2 goes to n2: total 326
	// web-3 finds no node: 0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't match pod topology spread constraints.
	// constraint 0: topology.kubernetes.io/zone, maxSkew 1, minDomains 3, selector app=web
	//   a: 1 pods on 1 nodes, room for 0
	//   b: 1 pods on 2 nodes, room for 0
	//   minimum 0 (2 of 3 domains)
	//   nobody makes room: 0/3 nodes are available: 3 No preemption victims found for incoming pod.
	// job-1 goes to n2: total 372
	// log-1 goes to n3: the only one
	// pay-1 finds no node: 0/3 nodes are available: 3 Insufficient cpu.
	// constraint 0: topology.kubernetes.io/zone, maxSkew 1, minDomains 3, selector app=pay
	//   a: 0 pods on 1 nodes, room for 1
	//   b: 0 pods on 2 nodes, room for 1
	//   minimum 0 (2 of 3 domains)
	//   job-1 leaves n2 (lowest of the highest victim priorities)
	// pay-1 goes to n2: the only one
	// the shape gives a node that is 40, 80 and 100 percent full 50 100 40
	// the kubelet of n2 evicts web-2: requests 1024 MiB and uses 1280 MiB
	// the kubelet of n2 evicts pay-1: requests 1024 MiB and uses 7168 MiB
}

// same compares the pieces with package placement, whose profile has the same plugins, and returns what the pieces decided.
func same(t *testing.T, p *v1.Pod, c *cache, pdbs []*policyv1.PodDisruptionBudget) (decision, preemption.Result) {
	t.Helper()
	args := placement.PluginArgs{NodeResourcesFit: placement.FitOptions{Args: packing}}
	plugin := func(name string) *placement.Plugin { return must(args.Plugin(name)) }
	plan, err := placement.New(placement.Rows(c), placement.Profile{
		Filters: []*placement.Plugin{plugin("NodeUnschedulable"), plugin("TaintToleration"), plugin("NodeResourcesFit"), plugin("PodTopologySpread")},
		Scores:  []placement.Weighted{{Plugin: plugin("NodeResourcesFit"), Weight: 1}, {Plugin: plugin("TaintToleration"), Weight: 3}},
	})
	require.NoError(t, err)
	want := plan.Decide(p, placement.Options{})
	got, err := decide(p, c)
	if want.Failure != nil && want.Failure.Err != nil {
		require.Error(t, err)
		_, err = victims(p, c, pdbs, time.Unix(0, 0))
		require.Error(t, err)
		return got, preemption.Result{}
	}
	require.NoError(t, err)
	require.Equal(t, want.Slot, got.slot, got.why)
	switch {
	case want.Feasible > 1:
		require.Equal(t, fmt.Sprint("total ", want.Total), got.why)
	case want.Placed():
		require.Equal(t, "the only one", got.why)
	default:
		require.Equal(t, want.Failure.Text(), got.why)
		now := time.Unix(0, 0)
		wanted := plan.Preempt(p, want.Failure, placement.Options{}, placement.PreemptOptions{Budgets: disruption.NewBudgets(pdbs, disruption.BudgetOptions{}), Now: now})
		r, err := victims(p, c, pdbs, now)
		require.NoError(t, err)
		require.Equal(t, wanted.Outcome, r.Outcome)
		require.Equal(t, wanted.Message, r.Message)
		require.Equal(t, wanted.Candidate, r.Candidate)
		require.Equal(t, wanted.Criterion, r.Criterion)
		return got, r
	}
	return got, preemption.Result{}
}

// The pieces decide as package placement does: node, total, message, victims.
func TestPiecesAreThePlacement(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	seen := map[string]int{}
	rounds, least := 150, 18
	if testing.Short() {
		rounds, least = 15, 0
	}
	for round := range rounds {
		c := &cache{}
		for k := range random.IntN(7) {
			n := node(fmt.Sprint("n", k), pick("a", "b", "c", "d"))
			n.Spec.Unschedulable = random.IntN(10) == 0
			n.Status.Allocatable["cpu"], n.Status.Allocatable["memory"] = resource.MustParse(pick("2", "4", "7500m")), resource.MustParse(pick("2Gi", "8Gi"))
			n.Status.Allocatable["example.com/gpu"] = resource.MustParse(pick("0", "1", "2"))
			for _, effect := range []v1.TaintEffect{v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule} {
				if random.IntN(4) == 0 {
					n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: pick("old", "db"), Effect: effect})
				}
			}
			c.add(n)
		}
		var pdbs []*policyv1.PodDisruptionBudget
		for _, app := range []string{"web", "db"} {
			b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: app}}
			b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
			b.Status.DisruptionsAllowed = random.Int32N(3)
			pdbs = append(pdbs, b)
		}
		for k := range 25 {
			p := pod(pick("web", "db", "job"), k, pick("0", "500m", "1", "3"), []int32{0, 0, 10, 100}[random.IntN(4)])
			p.UID = types.UID(fmt.Sprint(round, "-", k))
			p.Spec.Containers[0].Resources.Requests["memory"] = resource.MustParse(pick("0", "256Mi", "1Gi"))
			if random.IntN(6) == 0 {
				p.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse("1")
			}
			switch random.IntN(4) {
			case 0:
				p.Spec.TopologySpreadConstraints = nil
			case 1:
				p.Spec.TopologySpreadConstraints[0].MinDomains = nil
			}
			if random.IntN(100) == 0 && p.Spec.TopologySpreadConstraints != nil && c.Len() > 0 { // without nodes placement reads no selector
				seen["unreadable"]++
				p.Spec.TopologySpreadConstraints[0].LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Within"}}}
			}
			if random.IntN(2) == 0 {
				p.Spec.Tolerations = []v1.Toleration{{Key: pick("old", "db"), Operator: v1.TolerationOpExists}}
			}
			d, r := same(t, p, c, pdbs)
			slot := d.slot
			if r.Outcome == preemption.Success {
				seen["preempted"]++
				seen["broken budgets"] += int(r.Violations)
				slot = r.Slot
				for _, v := range r.Victims {
					c.pods[slot] = slices.DeleteFunc(c.pods[slot], func(p *v1.Pod) bool { return p == v.Pod })
				}
			}
			if slot < 0 {
				seen["waits"]++
				continue
			}
			if random.IntN(4) == 0 { // a pod that is being resized
				p.Status.ContainerStatuses = []v1.ContainerStatus{{Resources: &v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("2")}}}}
			}
			c.pods[slot] = append(c.pods[slot], p)
			seen["placed"]++
		}
	}
	for _, what := range []string{"preempted", "broken budgets", "waits", "placed", "unreadable"} {
		require.Greater(t, seen[what], least, what)
	}
}
