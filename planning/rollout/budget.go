package rollout

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
)

// budgets keeps the statuses of the disruption budgets of a run, and the pods of each.
type budgets struct {
	index *disruption.Budgets
	list  []*policyv1.PodDisruptionBudget // with the present status
	pods  [][]*item                       // that each budget selects
	stale map[int32]bool                  // budgets of which a pod has changed since the last sync
	rooms map[int32]Room                  // of the step that is under way
}

func newBudgets(s *cluster.Snapshot) *budgets {
	b := &budgets{list: slices.Collect(cluster.List[*policyv1.PodDisruptionBudget](s).All()), stale: map[int32]bool{}}
	b.index = disruption.NewBudgets(b.list, disruption.BudgetOptions{EmptySelectorMatchesAll: true})
	b.pods = make([][]*item, len(b.list))
	return b
}

// changed notes that a pod of these budgets came, left or changed.
func (b *budgets) changed(it *item) {
	for _, k := range it.budgets {
		b.stale[k] = true
	}
}

func (b *budgets) add(it *item) {
	for _, k := range it.budgets {
		b.pods[k] = append(b.pods[k], it)
	}
	b.changed(it)
}

func (b *budgets) drop(it *item) {
	for _, k := range it.budgets {
		b.pods[k] = without(b.pods[k], it)
	}
	b.changed(it)
}

// without returns a new list without one of its items. Nobody else's list changes.
func without(list []*item, it *item) []*item {
	at := slices.Index(list, it)
	return slices.Concat(list[:at], list[at+1:])
}

// sync brings the statuses of the stale budgets up to date.
func (b *budgets) sync(scale disruption.Scale, now time.Time) {
	for k := range b.stale {
		pods := make([]*v1.Pod, len(b.pods[k]))
		for i, it := range b.pods[k] {
			pods[i] = it.seen
		}
		c := *b.list[k]
		c.Status = disruption.Sync(b.list[k], pods, scale, now).Status
		b.list[k] = &c
		if r, watched := b.rooms[k]; watched {
			r.Lowest = min(r.Lowest, c.Status.CurrentHealthy)
			r.Minimum = c.Status.DesiredHealthy
			b.rooms[k] = r
		}
	}
	clear(b.stale)
}

// covering returns the budgets of a pod with their present statuses.
func (b *budgets) covering(it *item) (out []*policyv1.PodDisruptionBudget) {
	for _, k := range it.budgets {
		out = append(out, b.list[k])
	}
	return out
}

// charge takes the units that an eviction costs. Only a pod with one budget costs units: the Eviction API refuses pods with more.
func (b *budgets) charge(it *item, d *disruption.Decision) {
	for _, c := range d.Charges {
		changed := *c.Budget
		changed.Status = *c.Status
		b.list[it.budgets[0]] = &changed
	}
}

// watch begins to keep the room of the budgets of the pods that are to leave.
func (b *budgets) watch(items []*item) {
	b.rooms = map[int32]Room{}
	for _, it := range items {
		for _, k := range it.budgets {
			s := &b.list[k].Status
			b.rooms[k] = Room{Budget: b.name(k), Minimum: s.DesiredHealthy, Begin: s.DisruptionsAllowed, Lowest: s.CurrentHealthy}
		}
	}
}

// seen returns the rooms that watch began to keep, by name.
func (b *budgets) seen() []Room {
	out := []Room{}
	for k := range b.list {
		if r, watched := b.rooms[int32(k)]; watched {
			out = append(out, r)
		}
	}
	return out
}

func (b *budgets) name(k int32) string { return b.list[k].Namespace + "/" + b.list[k].Name }
