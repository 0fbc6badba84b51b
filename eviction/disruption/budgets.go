package disruption

import (
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// BudgetOptions selects how budgets match pods. The zero value is the behaviour of preemption in v1.37.
type BudgetOptions struct {
	// EmptySelectorMatchesAll makes a budget with the selector {} protect every pod of its namespace, pods without labels
	// included, as the Eviction API does. Preemption in v1.37 differs: such a budget protects no pod, and no budget
	// protects a pod without labels.
	EmptySelectorMatchesAll bool
}

// Budgets is a set of PodDisruptionBudgets, indexed by the labels that their selectors require. It is immutable and safe
// for concurrent use.
type Budgets struct {
	o       BudgetOptions
	pdbs    []*policyv1.PodDisruptionBudget
	matcher []labels.Selector // nil: the budget protects no pod
	allowed []int64
	spaces  map[string]*namespace
}

// namespace holds the budgets of one namespace: by a label pair that the selector requires, and the budgets whose selectors
// require no pair.
type namespace struct {
	byPair map[pair][]int32
	rest   []int32
}

type pair struct{ key, value string }

// NewBudgets indexes the budgets with their present status. status.disruptionsAllowed is the number of units that may be
// taken; generation and specification do not matter. A nil budget protects no pod, and neither does a budget whose selector
// is nil or cannot be read (rule D6.1). O(total selectors).
func NewBudgets(pdbs []*policyv1.PodDisruptionBudget, o BudgetOptions) *Budgets {
	b := &Budgets{o: o, pdbs: pdbs, matcher: make([]labels.Selector, len(pdbs)), allowed: make([]int64, len(pdbs)), spaces: map[string]*namespace{}}
	for i, p := range pdbs {
		if p == nil {
			continue
		}
		b.allowed[i] = int64(p.Status.DisruptionsAllowed)
		s, err := metav1.LabelSelectorAsSelector(p.Spec.Selector)
		if err != nil || s.Empty() && !o.EmptySelectorMatchesAll {
			continue
		}
		b.matcher[i] = s
		ns := b.spaces[p.Namespace]
		if ns == nil {
			ns = &namespace{byPair: map[pair][]int32{}}
			b.spaces[p.Namespace] = ns
		}
		ns.add(int32(i), s)
	}
	return b
}

// add indexes a budget under the values of one requirement that every selected pod meets. Of several such requirements it
// takes a requirement with the fewest values.
func (n *namespace) add(i int32, s labels.Selector) {
	requirements, selectable := s.Requirements()
	if !selectable {
		return
	}
	var best *labels.Requirement
	for r := range requirements {
		q := &requirements[r]
		if op := q.Operator(); op != selection.In && op != selection.Equals {
			continue
		}
		if best == nil || len(q.ValuesUnsorted()) < len(best.ValuesUnsorted()) {
			best = q
		}
	}
	if best == nil {
		n.rest = append(n.rest, i)
		return
	}
	for _, v := range best.ValuesUnsorted() {
		k := pair{best.Key(), v}
		if list := n.byPair[k]; len(list) == 0 || list[len(list)-1] != i { // a selector may repeat a value
			n.byPair[k] = append(list, i)
		}
	}
}

// AppendMatches appends the budgets that protect pods of this namespace with these labels, in the order of the list, and
// returns the extended slice. The pods of one controller have equal labels and share the answer: ask once for each label
// set. O(labels + candidates).
func (b *Budgets) AppendMatches(dst []int32, podNamespace string, podLabels map[string]string) []int32 {
	ns := b.spaces[podNamespace]
	if ns == nil || len(podLabels) == 0 && !b.o.EmptySelectorMatchesAll {
		return dst
	}
	start := len(dst)
	set := labels.Set(podLabels)
	add := func(candidates []int32) {
		for _, i := range candidates {
			if b.matcher[i].Matches(set) {
				dst = append(dst, i)
			}
		}
	}
	add(ns.rest)
	for k, v := range podLabels {
		add(ns.byPair[pair{k, v}])
	}
	slices.Sort(dst[start:])
	return dst
}

// Ledger returns a ledger with the units that all budgets allow now. O(budgets).
func (b *Budgets) Ledger() *Ledger {
	return &Ledger{b: b, left: slices.Clone(b.allowed)}
}

// Ledger counts the victims of one trial against the budgets. It is not safe for concurrent use. Make a ledger for each
// trial, or call Undo(0) between trials.
type Ledger struct {
	b     *Budgets
	left  []int64
	taken []int32 // one budget for each unit taken, oldest first
	order []int32 // of TakeToBroken
}

// Take counts the pod with this name as a victim (rules D6.3 and D6.4). budgets is the answer of AppendMatches for the pod.
// Each of these budgets loses one unit. Take reports whether one of them is below zero now; a violating pod is charged too.
// A budget that has already granted the pod's disruption (status.disruptedPods) is neither charged nor tested.
func (l *Ledger) Take(budgets []int32, podName string) (violates bool) {
	for _, i := range budgets {
		if _, granted := l.b.pdbs[i].Status.DisruptedPods[podName]; granted {
			continue
		}
		l.left[i]--
		l.taken = append(l.taken, i)
		if l.left[i] < 0 {
			violates = true
		}
	}
	return violates
}

// TakeToBroken is Take as v1.37's preemption counts (rule L8.11): it charges the budgets in the order of their names, and none after the
// first that is below zero. v1.37 itself has no fixed order.
func (l *Ledger) TakeToBroken(budgets []int32, podName string) (violates bool) {
	if len(budgets) > 1 {
		l.order = append(l.order[:0], budgets...)
		slices.SortFunc(l.order, func(a, b int32) int { return strings.Compare(l.b.pdbs[a].Name, l.b.pdbs[b].Name) })
		budgets = l.order
	}
	for k := range budgets {
		if l.Take(budgets[k:k+1], podName) {
			return true
		}
	}
	return false
}

// Mark returns the present state for Undo.
func (l *Ledger) Mark() int { return len(l.taken) }

// Undo gives back all units that were taken since the mark; Undo(0) gives back everything. O(units given back).
func (l *Ledger) Undo(mark int) {
	for len(l.taken) > mark {
		last := len(l.taken) - 1
		l.left[l.taken[last]]++
		l.taken = l.taken[:last]
	}
}
