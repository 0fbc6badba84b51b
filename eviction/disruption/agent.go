package disruption

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BudgetAgent names the agent that makes the disruption budget of a pod, and says when the budget goes. People should not change such a
// budget. It is "" when people made the budget, and for nil. An instance manager of Longhorn has a budget as long as a volume is attached
// to its node.
func BudgetAgent(pod *v1.Pod) string {
	if pod == nil {
		return ""
	}
	if c := metav1.GetControllerOf(pod); c != nil && c.Kind == "InstanceManager" && strings.HasPrefix(c.APIVersion, "longhorn.io/") {
		return "Longhorn makes this budget and deletes it when no volume is attached on " + pod.Spec.NodeName
	}
	return ""
}
