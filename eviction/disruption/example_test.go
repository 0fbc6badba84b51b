package disruption_test

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/eviction/disruption"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// running returns a ready pod of a ReplicaSet.
func running(name, app, node string) *v1.Pod {
	yes := true
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{"app": app},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: types.UID(app), Controller: &yes}},
		},
		Spec:   v1.PodSpec{NodeName: node},
		Status: v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}},
	}
}

// atLeast returns a budget that needs a number of healthy pods of an app.
func atLeast(app string, n int32) *policyv1.PodDisruptionBudget {
	min := intstr.FromInt32(n)
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: app},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &min, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
	}
}

// Two of three web pods must stay. One may go, and the next one must wait.
func Example() {
	pods := []*v1.Pod{running("web-1", "web", "n1"), running("web-2", "web", "n1"), running("web-3", "web", "n3")}
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
	// web-2: 429, not now "The disruption budget web does not allow evicting pods currently"
}

// The three answers of the Eviction API: the pod is evicted, its budget refuses, or several budgets select it.
func ExampleDecide() {
	pods := []*v1.Pod{running("web-1", "web", "n1"), running("db-1", "db", "n1"), running("gpu-1", "gpu", "n5")}
	second := atLeast("gpu", 0)
	second.Name = "gpu-2"
	budgets := []*policyv1.PodDisruptionBudget{atLeast("web", 0), atLeast("db", 1), atLeast("gpu", 0), second}
	for _, b := range budgets {
		b.Status = disruption.Sync(b, pods, nil, noon).Status
	}
	for _, p := range pods {
		d := disruption.Decide(p, budgets, disruption.Request{}, noon)
		fmt.Println(p.Name, d.Code)
		if !d.Allowed() {
			fmt.Println("  message:", d.Message)
			fmt.Printf("  cause: %q\n", d.Cause)
		}
		for _, r := range d.Remedies()[:min(1, len(d.Remedies()))] {
			fmt.Println("  remedy:", r.Text)
		}
	}
	// Output:
	// web-1 201
	// db-1 429
	//   message: Cannot evict pod as it would violate the pod's disruption budget.
	//   cause: "The disruption budget db needs 1 healthy pods and has 1 currently"
	//   remedy: raise the replicas above what the budget demands, or lower what it demands: it wants every pod
	// gpu-1 500
	//   message: This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.
	//   cause: ""
	//   remedy: let one PodDisruptionBudget select the pod: remove or narrow the others
}

// Draining n1 takes two waves for web. db has no replica to spare.
func ExampleMakePlan() {
	plan := disruption.MakePlan(disruption.PlanInput{
		Nodes:   []string{"n1"},
		Pods:    []*v1.Pod{running("web-1", "web", "n1"), running("web-2", "web", "n1"), running("web-3", "web", "n3"), running("db-1", "db", "n1")},
		Budgets: []*policyv1.PodDisruptionBudget{atLeast("web", 2), atLeast("db", 1)},
		Now:     noon,
		Replace: func(pods []*v1.Pod) []disruption.Replacement {
			return slices.Repeat([]disruption.Replacement{{Node: "n2", Ready: true}}, len(pods))
		},
	})
	for i, w := range plan.Waves {
		for _, e := range w {
			fmt.Println("wave", i+1, e.Pod.Name, "to", e.Replacement)
		}
	}
	for _, b := range plan.Blocked {
		fmt.Println("blocked", b.Pod.Name+":", b.Cause)
		fmt.Println(b.Proof)
		fmt.Println(b.Remedies[0].Text)
	}
	// Output:
	// wave 1 web-1 to n2
	// wave 2 web-2 to n2
	// blocked db-1: The disruption budget db needs 1 healthy pods and has 1 currently
	// budget default/db demands 1 healthy pods of 1 expected: 1 - 1 leaves none to disrupt
	// raise the replicas above what the budget demands, or lower what it demands: it wants every pod
}

// Preemption asks which victims would break a budget.
func ExampleLedger_Take() {
	budget := atLeast("web", 2)
	budget.Status.DisruptionsAllowed = 1
	budgets := disruption.NewBudgets([]*policyv1.PodDisruptionBudget{budget}, disruption.BudgetOptions{})
	ledger := budgets.Ledger()
	for _, p := range []*v1.Pod{running("web-1", "web", "n1"), running("web-2", "web", "n1"), running("db-1", "db", "n1")} {
		violates := ledger.Take(budgets.AppendMatches(nil, p.Namespace, p.Labels), p.Name)
		fmt.Println(p.Name, "violates:", violates)
	}
	// Output:
	// web-1 violates: false
	// web-2 violates: true
	// db-1 violates: false
}

// kubectl drain refuses a node that runs a pod without a controller.
func ExampleSelect() {
	debug := running("debug", "", "n1")
	debug.OwnerReferences = nil
	pods := []*v1.Pod{running("web-1", "web", "n1"), debug}
	fmt.Println(disruption.Select("n1", pods, disruption.DrainOptions{}, noon).Errors)
	fmt.Println(len(disruption.Select("n1", pods, disruption.DrainOptions{Force: true}, noon).Leaving), "pods leave with --force")
	// Output:
	// [cannot delete Pods that declare no controller (use --force to override): default/debug]
	// 2 pods leave with --force
}
