package disruption

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BudgetAgent says which agent makes the disruption budget of a pod, and when the budget goes: it is not a person's to change. It is "" for the
// budgets of persons, and for nil. An instance manager of Longhorn has a budget as long as a volume is attached to its node.
func BudgetAgent(pod *v1.Pod) string {
	if pod == nil {
		return ""
	}
	if c := metav1.GetControllerOf(pod); c != nil && c.Kind == "InstanceManager" && strings.HasPrefix(c.APIVersion, "longhorn.io/") {
		return "Longhorn makes this budget and deletes it when no volume is attached on " + pod.Spec.NodeName
	}
	return ""
}
