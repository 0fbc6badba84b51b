package optimal_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/preemption/optimal"
)

// crowd is a cluster of full nodes. The pods ask for random amounts of cpu and memory and have one of five priorities.
func crowd(t testing.TB, nodes, each int, budgets bool) (*cluster.Snapshot, *disruption.Budgets) {
	r := rand.New(rand.NewPCG(1, uint64(nodes*each)))
	var o cluster.Objects
	for i := range nodes {
		cpu, memory := 0, 0
		for k := range each {
			c, m := 50+r.IntN(450), 50+r.IntN(900)
			cpu, memory = cpu+c, memory+m
			p := testkit.Pod(fmt.Sprintf("p%d-%d", i, k)).Labels(fmt.Sprintf("app=a%d", r.IntN(200))).
				Request(fmt.Sprintf("cpu=%dm,memory=%dMi", c, m)).Priority(int32(10 * r.IntN(5))).On(fmt.Sprintf("n%d", i)).Obj()
			at := metav1.NewTime(testkit.Epoch.Add(time.Duration(r.IntN(100000)) * time.Second))
			p.Status.StartTime = &at
			o.Pods = append(o.Pods, p)
		}
		o.Nodes = append(o.Nodes, testkit.Node(fmt.Sprintf("n%d", i)).Label("rack", fmt.Sprintf("r%d", i%100)).Capacity(fmt.Sprintf("cpu=%dm,memory=%dMi,pods=250", cpu+r.IntN(100), memory+r.IntN(100))).Obj())
	}
	var pdbs []*policyv1.PodDisruptionBudget
	for k := 0; budgets && k < 200; k++ {
		pdbs = append(pdbs, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("b%d", k)},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprintf("a%d", k)}}},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: int32(k % 2)},
		})
	}
	s, err := cluster.New(o)
	require.NoError(t, err)
	return s, disruption.NewBudgets(pdbs, disruption.BudgetOptions{})
}

func benchmark(b *testing.B, pod *v1.Pod, nodes, each int, budgets bool, o optimal.Options) {
	s, pdbs := crowd(b, nodes, each, budgets)
	plan, err := placement.New(s, placement.DefaultProfile())
	require.NoError(b, err)
	d := plan.Decide(pod, placement.Options{})
	require.False(b, d.Placed())
	with := search(b, o)
	options := with.Options(preemption.Options{})
	ask := func() {
		r := plan.Preempt(pod, d.Failure, placement.Options{}, placement.PreemptOptions{Budgets: pdbs, Now: now, Options: options})
		if r.Outcome != preemption.Success || !with.Proof().Optimal {
			b.Fatal(r.Message, with.Proof())
		}
	}
	ask() // the second question finds what the first has learnt about the pods
	ask()
	b.ReportAllocs()
	for b.Loop() {
		ask()
	}
	b.ReportMetric(float64(with.Proof().Steps), "steps")
	b.ReportMetric(float64(with.Proof().Nodes-with.Proof().Excluded), "searched")
}

// BenchmarkNode measures one node with 110 pods of random requests and five priorities.
func BenchmarkNode(b *testing.B) {
	for _, cpu := range []int{500, 2000, 6000} {
		for _, budgets := range []bool{false, true} {
			b.Run(fmt.Sprintf("cpu=%dm/budgets=%t", cpu, budgets), func(b *testing.B) {
				pod := testkit.Pod("p").Request(fmt.Sprintf("cpu=%dm,memory=%dMi", cpu, 2*cpu)).Priority(45).Obj()
				benchmark(b, pod, 1, 110, budgets, optimal.Options{})
			})
		}
	}
}

// BenchmarkCluster measures a preemptor over 5,000 full nodes of 30 pods.
func BenchmarkCluster(b *testing.B) {
	for _, budgets := range []bool{false, true} {
		b.Run(fmt.Sprintf("budgets=%t", budgets), func(b *testing.B) {
			pod := testkit.Pod("p").Request("cpu=2,memory=4Gi").Priority(45).Obj()
			benchmark(b, pod, 5000, 30, budgets, optimal.Options{})
		})
	}
}

// BenchmarkAcross measures a preemptor that must not share a rack with the pods of one app, over 5,000 full nodes of 30 pods in 100
// racks. Every rack has some pods of the app, so that pods of several nodes leave.
func BenchmarkAcross(b *testing.B) {
	pod := testkit.Pod("p").Request("cpu=100m,memory=100Mi").Priority(45).RequireApart("rack", "app=a1").Obj()
	s, pdbs := crowd(b, 5000, 30, true)
	plan, err := placement.New(s, placement.DefaultProfile())
	require.NoError(b, err)
	d := plan.Decide(pod, placement.Options{})
	require.False(b, d.Placed())
	with := search(b, optimal.Options{})
	options := with.Options(preemption.Options{CrossNode: &preemption.CrossNode{}})
	var r preemption.Result
	for b.Loop() {
		r = plan.Preempt(pod, d.Failure, placement.Options{}, placement.PreemptOptions{Budgets: pdbs, Now: now, Options: options})
	}
	require.Equal(b, preemption.Success, r.Outcome)
	require.True(b, with.Proof().Optimal)
	b.ReportMetric(float64(with.Proof().Steps), "steps")
	b.ReportMetric(float64(r.Foreign), "foreign")
}

// BenchmarkGang measures a gang of 8 pods over 5,000 full nodes of 30 pods.
func BenchmarkGang(b *testing.B) {
	s, _ := crowd(b, 5000, 30, false)
	g := optimal.Gang{Snapshot: s, Now: now}
	for k := range 8 {
		g.Pods = append(g.Pods, testkit.Pod(fmt.Sprintf("g%d", k)).Request("cpu=2,memory=4Gi").Priority(45).Obj())
	}
	for b.Loop() {
		p, err := optimal.PlaceGang(g, optimal.Options{})
		require.NoError(b, err)
		require.True(b, p.Placed && p.Minimal)
	}
}
