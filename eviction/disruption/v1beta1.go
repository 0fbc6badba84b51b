package disruption

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// emptySelectorKey is the label key with which conversion marks a policy/v1beta1 selector {}.
const emptySelectorKey = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"

// SelectorFromV1beta1 returns the policy/v1 selector with the meaning of a policy/v1beta1 selector: there {} matched no
// pod. It returns any other selector as it is.
func SelectorFromV1beta1(selector *metav1.LabelSelector) *metav1.LabelSelector {
	if selector == nil || len(selector.MatchLabels)+len(selector.MatchExpressions) > 0 {
		return selector
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: emptySelectorKey, Operator: metav1.LabelSelectorOpExists}}}
}
