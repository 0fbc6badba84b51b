package disruption

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// BudgetOptions selects how budgets match pods. The zero value is what preemption does in 1.36.
type BudgetOptions struct {
	// EmptySelectorMatchesAll lets a budget with the selector {} protect every pod of its namespace, and looks at pods
	// without labels too, as the Eviction API does. In 1.36 preemption lets such a budget protect nobody, and treats pods
	// without labels as protected by none.
	EmptySelectorMatchesAll bool
}

// Budgets is an immutable set of PodDisruptionBudgets, indexed by the labels they ask for. Safe for concurrent use.
type Budgets struct {
	o       BudgetOptions
	pdbs    []*policyv1.PodDisruptionBudget
	matcher []labels.Selector // nil: protects nobody
	allowed []int64
	spaces  map[string]*namespace
}

// namespace finds candidates: budgets whose selector demands one of a pod's label pairs, and those that demand none.
type namespace struct {
	byPair map[pair][]int32
	rest   []int32
}

type pair struct{ key, value string }

// NewBudgets indexes the budgets with their present status: status.disruptionsAllowed is what may be taken, generation and spec are not
// looked at. A selector that is nil or cannot be read protects nobody. A nil budget protects nobody. O(total selectors).
func NewBudgets(pdbs []*policyv1.PodDisruptionBudget, o BudgetOptions) *Budgets {
	b := &Budgets{o: o, pdbs: pdbs, matcher: make([]labels.Selector, len(pdbs)), allowed: make([]int64, len(pdbs)), spaces: map[string]*namespace{}}
	for i, p := range pdbs {
		if p == nil {
			continue
		}
		b.allowed[i] = int64(p.Status.DisruptionsAllowed)
		s := selectorOf(p)
		if s == nil || s.Empty() && !o.EmptySelectorMatchesAll {
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

// selectorOf returns the pods of a budget, by policy/v1: nil for a nil selector and one that cannot be read, all for {}.
func selectorOf(p *policyv1.PodDisruptionBudget) labels.Selector {
	if p.Spec.Selector == nil {
		return nil
	}
	s, err := metav1.LabelSelectorAsSelector(p.Spec.Selector)
	if err != nil {
		return nil
	}
	return s
}

// add files a budget under the values of one requirement that every selected pod meets, the one with the fewest values.
func (n *namespace) add(i int32, s labels.Selector) {
	requirements, selectable := s.Requirements()
	if !selectable {
		return
	}
	var best *labels.Requirement
	for r := range requirements {
		q := &requirements[r]
		if op := q.Operator(); op != selection.In && op != selection.Equals && op != selection.DoubleEquals {
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
		if list := n.byPair[k]; len(list) == 0 || list[len(list)-1] != i { // a value may be written twice
			n.byPair[k] = append(list, i)
		}
	}
}

// AppendMatches appends the budgets that protect pods of that namespace and those labels, in the order of the list, and
// returns the extended slice. Pods of one controller share the answer: ask once for each label set. O(labels + candidates).
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
	if len(ns.byPair) > 0 {
		for k, v := range podLabels {
			add(ns.byPair[pair{k, v}])
		}
	}
	slices.Sort(dst[start:])
	return dst
}

// Ledger returns a fresh copy of what may be taken. O(budgets).
func (b *Budgets) Ledger() *Ledger {
	return &Ledger{b: b, left: slices.Clone(b.allowed)}
}

// Ledger books victims of one trial against the budgets. Not safe for concurrent use; make one for each trial, or call Undo(0)
// between trials.
type Ledger struct {
	b     *Budgets
	left  []int64
	taken []int32 // budgets in the order in which units were taken
}

// Take books one victim, the pod of that name. budgets is the answer of AppendMatches for the pod. Each of these budgets
// loses a unit, and Take reports whether one of them is below zero now. A budget that has granted the pod's disruption
// already (status.disruptedPods) is neither counted nor charged. A violating pod is charged like the others.
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

// Mark returns a place to go back to.
func (l *Ledger) Mark() int { return len(l.taken) }

// Undo gives back what was taken since the mark, everything for mark 0. O(units given back).
func (l *Ledger) Undo(mark int) {
	for len(l.taken) > mark {
		last := len(l.taken) - 1
		l.left[l.taken[last]]++
		l.taken = l.taken[:last]
	}
}
