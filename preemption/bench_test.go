package preemption_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
)

// full is a cluster of nodes with 4 cpu, full of four pods of 200 applications and three priorities, 0, 10 and 100, with a
// budget for each application.
func full(t testing.TB, nodes int, constrained bool, allowed int32) (*cluster.Snapshot, *disruption.Budgets) {
	const apps = 200
	var o cluster.Objects
	for i := range nodes {
		o.Nodes = append(o.Nodes, testkit.Node(fmt.Sprintf("node-%d", i)).Zone(fmt.Sprintf("zone-%d", i%3)).Capacity("cpu=4,memory=16Gi").Obj())
	}
	for i := range 4 * nodes {
		app := fmt.Sprintf("app-%d", (i*7+i/nodes*31)%apps)
		b := testkit.Pod(fmt.Sprintf("pod-%d", i)).Labels("app=" + app).Request("cpu=1,memory=1Gi").Priority([]int32{0, 10, 100}[i*5%3]).On(o.Nodes[i%nodes].Name)
		if constrained {
			b = b.RequireApart(v1.LabelHostname, "app="+app).Spread(5, v1.LabelTopologyZone, v1.DoNotSchedule, "app="+app)
		}
		p := started(b, i%1000)
		o.Pods = append(o.Pods, p)
	}
	var budgets []*policyv1.PodDisruptionBudget
	for k := range apps {
		budgets = append(budgets, budget(fmt.Sprintf("b%d", k), fmt.Sprintf("app=app-%d", k), allowed))
	}
	s, err := cluster.New(o)
	require.NoError(t, err)
	return s, disruption.NewBudgets(budgets, disruption.BudgetOptions{})
}

// BenchmarkPreempt measures a failed search to the nomination: one preemptor over 5,000 full nodes with 20,000 pods of three
// priorities and 200 budgets. cold has no index from an earlier question.
func BenchmarkPreempt(b *testing.B) {
	plain := testkit.Pod("p").Labels("app=app-7").Request("cpu=2,memory=1Gi").Priority(50).Obj()
	bound := testkit.Pod("p").Labels("app=app-7").Request("cpu=2,memory=1Gi").Priority(50).
		RequireApart(v1.LabelHostname, "app=app-7").Spread(5, v1.LabelTopologyZone, v1.DoNotSchedule, "app=app-7").Obj()
	large := testkit.Pod("p").Request("cpu=4,memory=1Gi").Priority(50).Obj()
	for _, c := range []struct {
		name        string
		pod         *v1.Pod
		constrained bool
		allowed     int32
		cold        bool
		found       bool
	}{
		{"plain", plain, false, 1, false, true},
		{"plain cold", plain, false, 1, true, true},
		{"spread and anti-affinity", bound, true, 1, false, true},
		{"spread and anti-affinity cold", bound, true, 1, true, true},
		{"all budgets exhausted", plain, false, 0, false, true},
		{"all budgets exhausted, constrained", bound, true, 0, false, true},
		{"hopeless", large, false, 1, false, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, budgets := full(b, 5000, c.constrained, c.allowed)
			plan, err := placement.New(s, placement.DefaultProfile())
			require.NoError(b, err)
			require.False(b, plan.Decide(c.pod, placement.Options{}).Placed())
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				if c.cold {
					plan, err = placement.New(s, placement.DefaultProfile())
					require.NoError(b, err)
				}
				r := plan.Preempt(c.pod, nil, placement.Options{}, placement.PreemptOptions{Budgets: budgets, Now: now})
				if (r.Outcome == preemption.Success) != c.found {
					b.Fatal(shown(r))
				}
			}
		})
	}
}
