package admission_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/internal/testkit"
)

// amount reads a number or a text; nil for "".
func amount(text string) *intstr.IntOrString {
	if text == "" {
		return nil
	}
	v := intstr.Parse(text)
	return &v
}

func TestValidateBudget(t *testing.T) {
	type test struct{ name, min, max, want string }
	testkit.Run(t, []test{
		{"neither", "", "", ""}, {"number", "3", "", ""}, {"percent", "", "100%", ""}, {"zero percent", "0%", "", ""},
		{"both", "1", "1", "minAvailable and maxUnavailable cannot be both set"},
		{"negative", "-1", "", "spec.minAvailable: Invalid value: -1"},
		{"over 100%", "", "101%", "spec.maxUnavailable: Invalid value: \"101%\""},
		{"words", "half", "", "spec.minAvailable: Invalid value: \"half\""},
		{"negative percent", "-1%", "", "spec.minAvailable: Invalid value: \"-1%\""},
		{"fraction", "1.5%", "", "spec.minAvailable: Invalid value: \"1.5%\""},
		{"only the sign", "%", "", "spec.minAvailable: Invalid value: \"%\": a valid percent string must be a numeric string"},
		{"far too many", "99999999999999999999%", "", "must not be greater than 100%"},
	}, func(t *testing.T, c test) {
		errs := admission.Validate(&policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: amount(c.min), MaxUnavailable: amount(c.max)}}, admission.Options{})
		if c.want == "" {
			require.Empty(t, errs)
		} else {
			require.ErrorContains(t, errs.ToAggregate(), c.want)
		}
	})
	always := policyv1.AlwaysAllow
	both := admission.Validate(&policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: amount("1"), MaxUnavailable: amount("1"), UnhealthyPodEvictionPolicy: &always}}, admission.Options{})
	require.ErrorContains(t, both.ToAggregate(), `"UnhealthyPodEvictionPolicy":"AlwaysAllow"`, "the refused value is shown whole")
	bad := policyv1.UnhealthyPodEvictionPolicyType("Sometimes")
	errs := admission.Validate(&policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{UnhealthyPodEvictionPolicy: &bad, Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: "Bad"}}}}}, admission.Options{})
	require.ErrorContains(t, errs.ToAggregate(), `spec.unhealthyPodEvictionPolicy: Unsupported value: "Sometimes"`)
	require.ErrorContains(t, errs.ToAggregate(), "spec.selector")
}
