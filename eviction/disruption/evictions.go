package disruption

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/internal/same"
)

// Evictions decides several evictions one after the other, on copies of the budgets' statuses. It is not safe for
// concurrent use.
type Evictions struct {
	index *Budgets
	pdbs  []*policyv1.PodDisruptionBudget // the budgets with their present statuses
	errs  []error                         // by budget: why its selector cannot be read
	ids   []int32
}

// NewEvictions copies the statuses of the budgets and does not modify the budgets. A nil budget covers no pod. O(total
// selectors).
func NewEvictions(pdbs []*policyv1.PodDisruptionBudget) *Evictions {
	e := &Evictions{index: NewBudgets(pdbs, BudgetOptions{EmptySelectorMatchesAll: true}), pdbs: slices.Clone(pdbs), errs: make([]error, len(pdbs))}
	for i, b := range pdbs {
		if b == nil {
			continue
		}
		_, e.errs[i] = same.AsSelector(b.Spec.Selector)
	}
	return e
}

// Evict decides with the present statuses and charges the budgets. A nil pod means that the pod does not exist: 404.
func (e *Evictions) Evict(pod *v1.Pod, r Request, now time.Time) Decision {
	if pod == nil {
		return decide(nil, nil, r, now)
	}
	covering := e.covering(pod)
	d := decide(pod, covering, r, now)
	for _, c := range d.Charges {
		e.set(e.ids[slices.Index(covering, c.Budget)], c.Status)
	}
	return d
}

// covering returns the budgets of a pod with their present statuses. ids has their places until the next call.
func (e *Evictions) covering(pod *v1.Pod) (out []*policyv1.PodDisruptionBudget) {
	e.ids = e.index.AppendMatches(e.ids[:0], pod.Namespace, pod.Labels)
	for _, i := range e.ids {
		out = append(out, e.pdbs[i])
	}
	return out
}

func (e *Evictions) set(i int32, s *policyv1.PodDisruptionBudgetStatus) {
	now := *e.pdbs[i]
	now.Status = *s
	e.pdbs[i] = &now
}

// Sync updates the status of every budget from the pods, as the disruption controller does. The result has one element for
// each budget; a nil budget has the zero value. Nil pods are ignored. When several budgets select a pod, the first of them
// has a notice with reason MultiplePodDisruptionBudgets about the pod, because the pod cannot be evicted (rule D5.1).
// O(pods x labels + matches).
func (e *Evictions) Sync(pods []*v1.Pod, scale Scale, now time.Time) []Synced {
	out := make([]Synced, len(e.pdbs))
	for i, matching := range e.matching(pods) {
		if e.pdbs[i] == nil {
			continue
		}
		out[i] = syncMatching(e.pdbs[i], matching, e.errs[i], scale, now)
		e.set(int32(i), &out[i].Status)
	}
	for _, p := range pods {
		if p == nil {
			continue
		}
		if e.ids = e.index.AppendMatches(e.ids[:0], p.Namespace, p.Labels); len(e.ids) > 1 {
			out[e.ids[0]].notice(v1.EventTypeWarning, "MultiplePodDisruptionBudgets", "Several PodDisruptionBudgets select the pod: "+e.names(e.ids), p)
		}
	}
	return out
}

// matching returns the pods that each budget selects, in the order of pods.
func (e *Evictions) matching(pods []*v1.Pod) [][]*v1.Pod {
	lists := make([][]*v1.Pod, len(e.pdbs))
	for _, p := range pods {
		if p == nil {
			continue
		}
		e.ids = e.index.AppendMatches(e.ids[:0], p.Namespace, p.Labels)
		for _, i := range e.ids {
			lists[i] = append(lists[i], p)
		}
	}
	return lists
}

func (e *Evictions) names(ids []int32) string {
	var names []string
	for _, i := range ids {
		names = append(names, e.pdbs[i].Name)
	}
	return strings.Join(names, ", ")
}

// Budgets returns the budgets with their present statuses, in the order given, as a new slice. Callers must not modify the
// budgets.
func (e *Evictions) Budgets() []*policyv1.PodDisruptionBudget { return slices.Clone(e.pdbs) }
