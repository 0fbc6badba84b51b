package place

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/eviction/disruption"
)

// budget is a disruption budget. A budget that came without a status follows its pods, as the disruption controller does.
type budget struct {
	pdb      *policyv1.PodDisruptionBudget
	follows  bool
	selector labels.Selector
	members  map[string]*v1.Pod
	stale    bool
}

// addBudget adds a disruption budget.
func (w *world) addBudget(pdb *policyv1.PodDisruptionBudget) {
	s := pdb.Status
	b := &budget{pdb: pdb, follows: s.ObservedGeneration == 0 && s.ExpectedPods == 0 && s.CurrentHealthy == 0 && s.DesiredHealthy == 0 && s.DisruptionsAllowed == 0}
	w.budgets, w.synced, w.selecting = append(w.budgets, b), nil, nil
	if !b.follows {
		return
	}
	b.members, b.stale = map[string]*v1.Pod{}, true
	var err error
	if b.selector, err = metav1.LabelSelectorAsSelector(pdb.Spec.Selector); err != nil {
		b.selector = labels.Nothing() // as Sync has it
	}
	for _, p := range w.pods {
		b.see(p)
	}
}

// dropBudget forgets a disruption budget.
func (w *world) dropBudget(pdb *policyv1.PodDisruptionBudget) {
	w.budgets = slices.DeleteFunc(w.budgets, func(b *budget) bool { return key(b.pdb) == key(pdb) })
	w.synced, w.selecting = nil, nil
}

// see notes a new version of a pod.
func (b *budget) see(p *v1.Pod) {
	if !b.follows || p.Namespace != b.pdb.Namespace {
		return
	}
	if b.selector.Matches(labels.Set(p.Labels)) {
		b.members[key(p)], b.stale = observed(p), true
	} else {
		b.lose(p)
	}
}

func (b *budget) lose(p *v1.Pod) {
	if _, was := b.members[key(p)]; was {
		delete(b.members, key(p))
		b.stale = true
	}
}

// keep puts a new or changed pod into the world. drop takes a pod out. The budgets follow.
func (w *world) keep(p *v1.Pod) {
	_, known := w.pods[key(p)]
	w.pods[key(p)] = p
	if known { // its labels may have been others
		for _, b := range w.budgets {
			b.see(p)
		}
		return
	}
	if w.selecting == nil {
		list := make([]*policyv1.PodDisruptionBudget, len(w.budgets))
		for k, b := range w.budgets {
			list[k] = b.pdb
		}
		w.selecting = disruption.NewBudgets(list, disruption.BudgetOptions{EmptySelectorMatchesAll: true})
	}
	for _, k := range w.selecting.AppendMatches(nil, p.Namespace, p.Labels) {
		w.budgets[k].see(p)
	}
}

func (w *world) drop(p *v1.Pod) {
	delete(w.pods, key(p))
	for _, b := range w.budgets {
		b.lose(p)
	}
}

// disruptionBudgets returns the budgets as the disruption controller has them now.
func (w *world) disruptionBudgets() *disruption.Budgets {
	if w.synced != nil && !slices.ContainsFunc(w.budgets, func(b *budget) bool { return b.stale }) {
		return w.synced
	}
	list := make([]*policyv1.PodDisruptionBudget, len(w.budgets))
	for k, b := range w.budgets {
		if b.stale {
			var pods []*v1.Pod
			for _, name := range slices.Sorted(maps.Keys(b.members)) {
				pods = append(pods, b.members[name])
			}
			c := *b.pdb
			c.Status = disruption.Sync(b.pdb, pods, w.scale, w.now).Status
			b.pdb, b.stale = &c, false
		}
		list[k] = b.pdb
	}
	w.synced = disruption.NewBudgets(list, disruption.BudgetOptions{})
	return w.synced
}

// observed returns a pod with the status that its kubelet would report. A running pod without conditions in the input counts
// as ready.
func observed(p *v1.Pod) *v1.Pod {
	ready := slices.ContainsFunc(p.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady })
	if p.Spec.NodeName == "" || ready || p.Status.Phase == v1.PodPending {
		return p
	}
	c := *p
	c.Status.Conditions = slices.Concat(p.Status.Conditions, []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}})
	return &c
}
