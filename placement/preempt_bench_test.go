package placement

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
)

// BenchmarkPreemptDistinct measures a decision without a node and the search for victims, for preemptors of which each asks for
// an amount of its own. There are 5,000 full nodes with 20,000 pods of three priorities and 200 budgets.
func BenchmarkPreemptDistinct(b *testing.B) {
	const nodes, groups = 5_000, 200
	var o cluster.Objects
	for i := range nodes {
		n := testkit.Node(fmt.Sprintf("node-%d", i)).Zone(fmt.Sprintf("zone-%d", i%3)).Capacity("cpu=4,memory=64Gi")
		o.Nodes = append(o.Nodes, n.Obj())
	}
	for i := range 4 * nodes {
		p := testkit.Pod(fmt.Sprintf("run-%d", i)).Labels(fmt.Sprintf("app=group-%d", i%groups)).Request("cpu=1,memory=200Mi").
			Priority([]int32{0, 100, 1000}[i/nodes%3]).On(o.Nodes[i%nodes].Name).Obj()
		start := metav1.NewTime(time.Unix(int64(1_700_000_000+i), 0))
		p.Status.StartTime = &start
		o.Pods = append(o.Pods, p)
	}
	var list []*policyv1.PodDisruptionBudget
	for g := range groups {
		d := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("budget-%d", g)}}
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprintf("group-%d", g)}}
		d.Status.DisruptionsAllowed = int32(g % 3)
		list = append(list, d)
	}
	s, err := cluster.New(o)
	require.NoError(b, err)
	plan, err := New(s, benchProfile())
	require.NoError(b, err)
	budgets, now := disruption.NewBudgets(list, disruption.BudgetOptions{}), time.Unix(1_800_000_000, 0)
	n := 0
	ask := func() {
		app := fmt.Sprintf("vip-%d", n%3)
		x := testkit.Pod(fmt.Sprintf("default/vip-%d", n)).Labels("app=" + app).Priority(500)
		switch n % 3 {
		case 1:
			x = x.Spread(1, v1.LabelTopologyZone, v1.DoNotSchedule, "app="+app)
		case 2:
			x = x.RequireApart(v1.LabelHostname, "app="+app)
		}
		pod := x.Request(fmt.Sprintf("cpu=2,memory=%d", 200<<20+n)).Obj()
		d := plan.Decide(pod, Options{})
		r := plan.Preempt(pod, d.Failure, Options{}, PreemptOptions{Budgets: budgets, Now: now, Options: preemption.Options{Offset: n}})
		if r.Outcome != preemption.Success {
			b.Fatal(r.Message)
		}
		n++
	}
	for range 15 { // the running pods are known to the plan
		ask()
	}
	b.ReportAllocs()
	for b.Loop() {
		ask()
	}
}
