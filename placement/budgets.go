package placement

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/view"
)

// budgets are the disruption budgets of a plan's cluster, as of a version of it.
type budgets struct {
	made *disruption.Budgets
	at   uint64
	read bool
}

// of returns the budgets of a snapshot; nil for another cluster. They are made again after a change of an object that no filter and no score
// reads, as a budget is.
func (b *budgets) of(c Cluster) *disruption.Budgets {
	s, ok := c.(*cluster.Snapshot)
	if !ok {
		return nil
	}
	if b.read && b.at != s.Version() {
		reached := s.Since(b.at, func(events []cluster.Event) {
			if slices.ContainsFunc(events, func(e cluster.Event) bool { return e.Node == view.Unread }) {
				b.read = false
			}
		})
		b.read = b.read && reached
	}
	if !b.read {
		b.made = disruption.NewBudgets(slices.Collect(cluster.List[*policyv1.PodDisruptionBudget](s).All()), disruption.BudgetOptions{})
	}
	b.at, b.read = s.Version(), true
	return b.made
}
