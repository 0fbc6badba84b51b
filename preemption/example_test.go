package preemption_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
)

// Three zones, five nodes full of web pods; db has a budget that is used up, and gpu has nowhere to go.
func Example() {
	var o cluster.Objects
	for i, zone := range []string{"a", "a", "b", "b", "c"} {
		name := fmt.Sprintf("node-%d", i+1)
		o.Nodes = append(o.Nodes, testkit.Node(name).Zone(zone).Capacity("cpu=4").Obj())
		o.Pods = append(o.Pods, testkit.Pod(fmt.Sprintf("web-%d", i+1)).Labels("app=web").Request("cpu=3").Priority(int32(100+i)).On(name).Obj())
	}
	o.Pods[0] = testkit.Pod("db-0").Labels("app=db").Request("cpu=3").Priority(10).On("node-1").Obj()
	snapshot, err := cluster.New(o)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := placement.New(snapshot, placement.DefaultProfile())
	if err != nil {
		fmt.Println(err)
		return
	}
	gpu := testkit.Pod("gpu").Request("cpu=2").Priority(1000).Obj()
	fmt.Println(plan.Decide(gpu, placement.Options{}).Failure.Text())

	budgets := disruption.NewBudgets([]*policyv1.PodDisruptionBudget{budget("db", "app=db", 0)}, disruption.BudgetOptions{})
	r := placement.NewPreempter(plan).Preempt(gpu, placement.Options{}, placement.PreemptOptions{Budgets: budgets, Now: testkit.Epoch})
	fmt.Println(r.Outcome, r.Node, "by", r.Criterion)
	for _, a := range r.Actions(gpu, nil) {
		fmt.Println(a.Kind, a.Pod.Name, a.Event)
	}
	// Output:
	// 0/5 nodes are available: 5 Insufficient cpu.
	// Success node-2 by lowest of the highest victim priorities
	// evict web-2 Preempted by pod uid-default-gpu on node node-2
	// nominate gpu
}

func ExampleEligible() {
	never := v1.PreemptNever
	pod := testkit.Pod("gpu").Priority(1000).Obj()
	pod.Spec.PreemptionPolicy = &never
	fmt.Println(preemption.Eligible(preemption.Request{Pod: pod}))
	// Output: false not eligible due to preemptionPolicy=Never.
}

func ExampleCandidateArgs_Number() {
	fmt.Println(preemption.CandidateArgs{}.Number(5000), preemption.CandidateArgs{}.Number(20))
	// Output: 500 20
}
