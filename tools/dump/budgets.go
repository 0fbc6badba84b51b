package dump

import (
	"fmt"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/eviction/disruption"
)

// CheckBudgets gives the budgets of policy/v1beta1 the selectors that mean the same in policy/v1. The error names the first
// budget that the API server would refuse. O(budgets).
func (o *Objects) CheckBudgets() error {
	for _, b := range o.PodDisruptionBudgets {
		if b.APIVersion == "policy/v1beta1" {
			b.Spec.Selector = disruption.SelectorFromV1beta1(b.Spec.Selector)
		}
		if bad := admission.Validate(b, admission.Options{}); len(bad) > 0 {
			return fmt.Errorf("PodDisruptionBudget %s: %w", key(b), bad[0])
		}
	}
	return nil
}
