package disruption_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// running is a ready pod of a ReplicaSet.
func running(name, app, node string) *v1.Pod {
	p := testkit.Pod(name).Labels("app="+app).Owner("apps/v1", "ReplicaSet", app).On(node).Obj()
	p.Status = v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}}
	return p
}

// atLeast is a budget for the pods of an app.
func atLeast(app string, n int) *policyv1.PodDisruptionBudget {
	min := intstr.FromInt32(int32(n))
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: app + "-budget"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &min, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
	}
}

// Two of three web pods must stay, so one may go, and the next must wait.
func Example() {
	pods := []*v1.Pod{running("web-1", "web", "node-1"), running("web-2", "web", "node-1"), running("web-3", "web", "node-2")}
	budget := atLeast("web", 2)
	budget.Status = disruption.Sync(budget, pods, nil, noon).Status
	fmt.Println("allowed:", budget.Status.DisruptionsAllowed)

	e := disruption.NewEvictions([]*policyv1.PodDisruptionBudget{budget})
	for _, p := range pods[:2] {
		d := e.Evict(p, disruption.Request{}, noon)
		fmt.Printf("%s: %d, %v %q\n", p.Name, d.Code, d.Outlook(), d.Cause)
	}
	// Output:
	// allowed: 1
	// web-1: 201, now ""
	// web-2: 429, not now "The disruption budget web-budget does not allow evicting pods currently"
}

// Draining node-1 takes two waves for web; db has no replica to spare.
func ExampleMakePlan() {
	plan := disruption.MakePlan(disruption.PlanInput{
		Nodes:   []string{"node-1"},
		Pods:    []*v1.Pod{running("web-1", "web", "node-1"), running("web-2", "web", "node-1"), running("web-3", "web", "node-2"), running("db-1", "db", "node-1")},
		Budgets: []*policyv1.PodDisruptionBudget{atLeast("web", 2), atLeast("db", 1)},
		Now:     noon,
		Replace: func(*v1.Pod) (string, bool) { return "node-3", true },
	})
	for i, w := range plan.Waves {
		for _, e := range w {
			fmt.Println("wave", i+1, e.Pod.Name, "to", e.Replacement)
		}
	}
	for _, b := range plan.Blocked {
		fmt.Println("blocked", b.Pod.Name+":", b.Cause)
		fmt.Println(b.Proof)
		fmt.Println(b.Remedy)
	}
	// Output:
	// wave 1 web-1 to node-3
	// wave 2 web-2 to node-3
	// blocked db-1: The disruption budget db-budget needs 1 healthy pods and has 1 currently
	// budget default/db-budget demands 1 healthy pods of 1 expected: 1 - 1 leaves none to disrupt
	// raise the replicas above what the budget demands, or lower what it demands: it wants every pod
}

// Preemption asks which victims would break a budget.
func ExampleLedger_Take() {
	budget := atLeast("web", 2)
	budget.Status.DisruptionsAllowed = 1
	budgets := disruption.NewBudgets([]*policyv1.PodDisruptionBudget{budget}, disruption.BudgetOptions{})
	ledger := budgets.Ledger()
	for _, p := range []*v1.Pod{running("web-1", "web", "node-1"), running("web-2", "web", "node-1"), running("db-1", "db", "node-1")} {
		violates := ledger.Take(budgets.AppendMatches(nil, p.Namespace, p.Labels), p.Name)
		fmt.Println(p.Name, "violates:", violates)
	}
	// Output:
	// web-1 violates: false
	// web-2 violates: true
	// db-1 violates: false
}

func ExampleSelect() {
	pods := []*v1.Pod{running("web-1", "web", "node-1"), testkit.Pod("debug").On("node-1").Obj()}
	s := disruption.Select("node-1", pods, disruption.DrainOptions{}, noon)
	fmt.Println(s.Errors)
	// Output: [cannot delete Pods that declare no controller (use --force to override): default/debug]
}
