package disruption

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Nil and zero arguments, and nil in lists, are answered.
func TestNil(t *testing.T) {
	pod := &v1.Pod{}
	budget := &policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}}}
	budgets := []*policyv1.PodDisruptionBudget{nil, budget, nil}
	pods := []*v1.Pod{nil, pod, nil}
	decision, evictions := Decide(pod, budgets, Request{}, testkit.Epoch), NewEvictions(budgets)
	testkit.Misuse(t, map[string]any{
		"Decide": Decide, "NewBudgets": NewBudgets, "NewEvictions": NewEvictions, "NewScale": NewScale, "Sync": Sync, "Select": Select, "MakePlan": MakePlan,
		"Proof": Proof, "BudgetAgent": BudgetAgent, "React": React, "BudgetRefuses": BudgetRefuses, "StaleTarget": StaleTarget,
		"SelectorFromV1beta1": SelectorFromV1beta1, "Steps": decision.Steps, "Evict": evictions.Evict, "Evictions.Sync": evictions.Sync,
	}, nil, pod, pods, budget, budgets, &budget.Spec, NewScale(nil), PlanInput{Nodes: []string{"", "n1"}, Pods: pods, Budgets: budgets},
		PlanInput{Nodes: []string{""}, Pods: pods, Budgets: budgets, Scale: NewScale(nil), Options: DrainOptions{Force: true}},
		&metav1.Status{Code: codeTooMany}, &metav1.Status{Code: codeForbidden}, &metav1.Status{Code: codeForbidden, Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: v1.NamespaceTerminatingCause}}}})
}
