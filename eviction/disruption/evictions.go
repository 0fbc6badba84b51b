package disruption

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
)

// Evictions plays several evictions one after the other on copies of the budgets' statuses, and takes them back. Not safe
// for concurrent use.
type Evictions struct {
	index *Budgets
	pdbs  []*policyv1.PodDisruptionBudget // present versions
	undo  []undo
	ids   []int32
}

type undo struct {
	i   int32
	was *policyv1.PodDisruptionBudget
}

// NewEvictions starts from the budgets as they stand; they are not written to.
func NewEvictions(pdbs []*policyv1.PodDisruptionBudget) *Evictions {
	return &Evictions{index: NewBudgets(pdbs, BudgetOptions{EmptySelectorMatchesAll: true}), pdbs: slices.Clone(pdbs)}
}

// Evict decides on the present statuses and books the outcome.
func (e *Evictions) Evict(pod *v1.Pod, r Request, now time.Time) Decision {
	if pod == nil {
		return decide(nil, nil, r, now)
	}
	e.ids = e.index.AppendMatches(e.ids[:0], pod.Namespace, pod.Labels)
	var covering []*policyv1.PodDisruptionBudget
	for _, i := range e.ids {
		covering = append(covering, e.pdbs[i])
	}
	d := decide(pod, covering, r, now)
	for _, c := range d.Charges {
		e.set(e.ids[slices.Index(covering, c.Budget)], c.Status)
	}
	return d
}

func (e *Evictions) set(i int32, s *policyv1.PodDisruptionBudgetStatus) {
	was := e.pdbs[i]
	e.undo = append(e.undo, undo{i, was})
	now := *was
	now.Status = *s
	e.pdbs[i] = &now
}

// Sync lets the disruption controller look at all budgets, with the pods that there are now. Beside the notices of each
// budget there is one of reason MultiplePodDisruptionBudgets for each pod that several select: it cannot be evicted.
// O(budgets x pods).
func (e *Evictions) Sync(pods []*v1.Pod, scale Scale, now time.Time) []Notice {
	var notices []Notice
	for i, b := range e.pdbs {
		s := Sync(b, pods, scale, now)
		notices = append(notices, s.Notices...)
		e.set(int32(i), &s.Status)
	}
	for _, p := range pods {
		if e.ids = e.index.AppendMatches(e.ids[:0], p.Namespace, p.Labels); len(e.ids) > 1 {
			notices = append(notices, Notice{v1.EventTypeWarning, "MultiplePodDisruptionBudgets", "Several PodDisruptionBudgets select the pod: " + e.names(e.ids), p})
		}
	}
	return notices
}

func (e *Evictions) names(ids []int32) string {
	var names []string
	for _, i := range ids {
		names = append(names, e.pdbs[i].Name)
	}
	return strings.Join(names, ", ")
}

// Budgets returns the budgets with their present statuses, in the order given, as a new slice. They must not be written to.
func (e *Evictions) Budgets() []*policyv1.PodDisruptionBudget { return slices.Clone(e.pdbs) }

// Mark returns a place to go back to.
func (e *Evictions) Mark() int { return len(e.undo) }

// Undo takes back what was booked since the mark.
func (e *Evictions) Undo(mark int) {
	for len(e.undo) > mark {
		last := len(e.undo) - 1
		e.pdbs[e.undo[last].i] = e.undo[last].was
		e.undo = e.undo[:last]
	}
}
