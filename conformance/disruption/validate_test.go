package disruption_test

import (
	"fmt"
	"math/rand"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	internal "k8s.io/kubernetes/pkg/apis/policy"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"

	"github.com/podberth/podberth/admission"

	policyv1 "k8s.io/api/policy/v1"
)

// TestValidateSpec compares what is wrong with the numbers of a budget with what the API server's own validation finds, text
// by text.
func TestValidateSpec(t *testing.T) {
	amounts := []*intstr.IntOrString{nil}
	for _, n := range []int32{-5, -1, 0, 1, 100, 1000} {
		v := intstr.FromInt32(n)
		amounts = append(amounts, &v)
	}
	for _, s := range []string{"", "0", "5", "0%", "25%", "100%", "101%", "0100%", "00101%", "-1%", "1.5%", "25", "%", "abc", "25%%", " 25%", "99999999999999999999%"} {
		v := intstr.FromString(s)
		amounts = append(amounts, &v)
	}
	policies := []*string{nil}
	for _, p := range []string{"AlwaysAllow", "IfHealthyBudget", "Never", ""} {
		policies = append(policies, &p)
	}
	r := rand.New(rand.NewSource(1))
	for _, lowest := range amounts {
		for _, highest := range amounts {
			policy := policies[r.Intn(len(policies))]
			selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
			theirs := internal.PodDisruptionBudgetSpec{MinAvailable: lowest, MaxUnavailable: highest, Selector: selector}
			ours := policyv1.PodDisruptionBudgetSpec{MinAvailable: lowest, MaxUnavailable: highest, Selector: selector}
			if policy != nil {
				a, b := internal.UnhealthyPodEvictionPolicyType(*policy), policyv1.UnhealthyPodEvictionPolicyType(*policy)
				theirs.UnhealthyPodEvictionPolicy, ours.UnhealthyPodEvictionPolicy = &a, &b
			}
			want := errors(policyvalidation.ValidatePodDisruptionBudgetSpec(theirs, policyvalidation.PodDisruptionBudgetValidationOptions{}, field.NewPath("spec")))
			got := errors(admission.Validate(&policyv1.PodDisruptionBudget{Spec: ours}, admission.Options{}))
			if lowest != nil && highest != nil && len(want) > 0 && len(got) > 0 {
				want[0], got[0] = "both", "both" // the text quotes the internal object
			}
			if fmt.Sprint(want) != fmt.Sprint(got) {
				t.Errorf("minAvailable %v, maxUnavailable %v:\nreal     %q\npodberth %q", lowest, highest, want, got)
			}
		}
	}
}

func errors(list field.ErrorList) (texts []string) {
	for _, e := range list {
		texts = append(texts, e.Error())
	}
	return texts
}
