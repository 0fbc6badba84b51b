package dump

import (
	"fmt"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/eviction/disruption"
)

// CheckBudgets gives the budgets of policy/v1beta1 the selectors that mean the same in policy/v1. The error names the first
// budget that the API server would refuse. O(budgets).
func (o *Objects) CheckBudgets() error {
	for _, b := range o.PodDisruptionBudgets {
		if bad := refusedBudget(b); len(bad) > 0 {
			return fmt.Errorf("PodDisruptionBudget %s: %w", key(b), bad[0])
		}
	}
	return nil
}

// TakeRefusedBudgets does as CheckBudgets, but leaves the budgets that the API server would refuse out of the dump and returns what is wrong with
// them, by "PodDisruptionBudget NAMESPACE/NAME".
func (o *Objects) TakeRefusedBudgets() map[string]field.ErrorList {
	out := map[string]field.ErrorList{}
	o.PodDisruptionBudgets = slices.DeleteFunc(slices.Clone(o.PodDisruptionBudgets), func(b *policyv1.PodDisruptionBudget) bool {
		bad := refusedBudget(b)
		if len(bad) > 0 {
			out[nameInMessage("PodDisruptionBudget", b)] = bad
		}
		return len(bad) > 0
	})
	return out
}

func refusedBudget(b *policyv1.PodDisruptionBudget) field.ErrorList {
	if b.APIVersion == "policy/v1beta1" {
		b.Spec.Selector = disruption.SelectorFromV1beta1(b.Spec.Selector)
	}
	return admission.Validate(b, admission.Options{})
}
