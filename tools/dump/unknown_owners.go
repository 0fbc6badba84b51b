package dump

import (
	"fmt"
	"time"

	"github.com/podberth/podberth/eviction/disruption"
)

// WarnOfUnknownOwners warns of budgets whose expected pods the controllers of the input do not give: planners then believe the statuses, and
// without a status they take as many as run. O(pods x budgets of a namespace).
func (o *Objects) WarnOfUnknownOwners() {
	synced := disruption.NewEvictions(o.PodDisruptionBudgets).Sync(o.Pods, disruption.NewScale(o.Workloads()), time.Time{})
	for i, b := range o.PodDisruptionBudgets {
		err := synced[i].Err
		switch {
		case err == nil || synced[i].Lasting != nil:
		case b.Status.ExpectedPods > 0:
			o.Warnings.Group("how many pods %d PodDisruptionBudgets expect is taken from their statuses",
				fmt.Sprintf("PodDisruptionBudget %s/%s: how many pods it expects is taken from its status: %v", b.Namespace, b.Name, err))
		default:
			o.Warnings.Group("how many pods %d PodDisruptionBudgets expect is not known: as many as run are taken",
				fmt.Sprintf("PodDisruptionBudget %s/%s: how many pods it expects is not known, as many as run are taken: %v", b.Namespace, b.Name, err))
		}
	}
}
