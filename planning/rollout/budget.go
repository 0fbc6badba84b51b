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
	stale []bool                          // a pod has changed since the last sync
	dirty []int32                         // the stale budgets
	rooms map[int32]*Room                 // of the step that is under way
}

func newBudgets(s *cluster.Snapshot) *budgets {
	b := &budgets{list: slices.Collect(cluster.List[*policyv1.PodDisruptionBudget](s).All())}
	b.index = disruption.NewBudgets(b.list, disruption.BudgetOptions{EmptySelectorMatchesAll: true})
	b.pods, b.stale = make([][]*item, len(b.list)), make([]bool, len(b.list))
	for k := range b.list {
		b.touch(int32(k))
	}
	return b
}

func (b *budgets) touch(k int32) {
	if !b.stale[k] {
		b.stale[k] = true
		b.dirty = append(b.dirty, k)
	}
}

// changed notes that a pod of these budgets came, left or changed.
func (b *budgets) changed(it *item) {
	for _, k := range it.budgets {
		b.touch(k)
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

// without returns a new list without an item. Nobody else's list changes.
func without(list []*item, it *item) []*item {
	at := slices.Index(list, it)
	if at < 0 {
		return list
	}
	out := make([]*item, 0, len(list)-1)
	return append(append(out, list[:at]...), list[at+1:]...)
}

// sync brings the statuses of the stale budgets up to date.
func (b *budgets) sync(scale disruption.Scale, now time.Time) {
	for _, k := range b.dirty {
		b.stale[k] = false
		pods := make([]*v1.Pod, len(b.pods[k]))
		for i, it := range b.pods[k] {
			pods[i] = it.seen
		}
		c := *b.list[k]
		c.Status = disruption.Sync(b.list[k], pods, scale, now).Status
		b.list[k] = &c
		if r := b.rooms[k]; r != nil {
			r.Lowest = min(r.Lowest, c.Status.CurrentHealthy)
			r.Minimum = c.Status.DesiredHealthy
		}
	}
	b.dirty = b.dirty[:0]
}

// covering returns the budgets of a pod with their present statuses.
func (b *budgets) covering(it *item) (out []*policyv1.PodDisruptionBudget) {
	for _, k := range it.budgets {
		out = append(out, b.list[k])
	}
	return out
}

// charge takes the units that an eviction costs.
func (b *budgets) charge(it *item, d *disruption.Decision) {
	for _, c := range d.Charges {
		for _, k := range it.budgets {
			if b.list[k] == c.Budget {
				changed := *b.list[k]
				changed.Status = *c.Status
				b.list[k] = &changed
			}
		}
	}
}

// watch begins to keep the room of the budgets of the pods that are to leave.
func (b *budgets) watch(items []*item) {
	b.rooms = map[int32]*Room{}
	for _, it := range items {
		for _, k := range it.budgets {
			if b.rooms[k] == nil {
				s := &b.list[k].Status
				b.rooms[k] = &Room{Budget: b.name(k), Minimum: s.DesiredHealthy, Begin: s.DisruptionsAllowed, Lowest: s.CurrentHealthy}
			}
		}
	}
}

// seen returns the rooms that watch began to keep, by name.
func (b *budgets) seen() []Room {
	out := []Room{}
	for k := range b.list {
		if r := b.rooms[int32(k)]; r != nil {
			out = append(out, *r)
		}
	}
	return out
}

func (b *budgets) name(k int32) string { return b.list[k].Namespace + "/" + b.list[k].Name }
