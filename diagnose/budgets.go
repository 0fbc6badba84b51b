package diagnose

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/must"
)

// budgets are the disruption budgets of a cluster as the Eviction API reads them. nil budgets allow everything.
type budgets struct {
	pdbs  []*policyv1.PodDisruptionBudget
	index *disruption.Budgets
}

func budgetsOf(s *cluster.Snapshot) *budgets {
	pdbs := slices.Collect(cluster.List[*policyv1.PodDisruptionBudget](s).All())
	return &budgets{pdbs, disruption.NewBudgets(pdbs, disruption.BudgetOptions{EmptySelectorMatchesAll: true})}
}

func (b *budgets) ledger() *disruption.Ledger {
	if b == nil {
		return nil
	}
	return b.index.Ledger()
}

func (b *budgets) of(p *v1.Pod) []int32 { return b.index.AppendMatches(nil, p.Namespace, p.Labels) }

// allow takes a unit of each budget of a pod and returns true, or takes nothing when one of the budgets has none left.
func (b *budgets) allow(l *disruption.Ledger, p *v1.Pod) bool {
	if b == nil {
		return true
	}
	mark := l.Mark()
	if !l.Take(b.of(p), p.Name) {
		return true
	}
	l.Undo(mark)
	return false
}

// raises returns a change for each budget that allows fewer evictions than the pods need.
func (b *budgets) raises(pods []*v1.Pod) (out []*Change) {
	used := map[int32]int32{}
	for _, p := range pods {
		for _, k := range b.of(p) {
			if _, granted := b.pdbs[k].Status.DisruptedPods[p.Name]; !granted {
				used[k]++
			}
		}
	}
	for k, pdb := range b.pdbs {
		if n := used[int32(k)]; n > max(pdb.Status.DisruptionsAllowed, 0) {
			out = append(out, raise(pdb, n))
		}
	}
	return out
}

// raise returns the change after which a budget allows n evictions. A budget without a status is raised by as many as it allows
// too few.
func raise(b *policyv1.PodDisruptionBudget, n int32) *Change {
	c := &Change{Kind: RaiseBudget, Object: "PodDisruptionBudget " + b.Namespace + "/" + b.Name}
	raised := b.DeepCopy()
	raised.Status.DisruptionsAllowed = n
	known, more := b.Status.ExpectedPods > 0, n-max(b.Status.DisruptionsAllowed, 0)
	var to intstr.IntOrString
	if was := b.Spec.MinAvailable; was != nil {
		switch {
		case known:
			to = intstr.FromInt32(max(0, b.Status.CurrentHealthy-n))
		case was.Type == intstr.Int:
			to = intstr.FromInt32(max(0, was.IntVal-more))
		}
		c.Path, c.From, raised.Spec.MinAvailable = "spec.minAvailable", was.String(), &to
	} else {
		was := b.Spec.MaxUnavailable
		c.Path, to = "spec.maxUnavailable", intstr.FromString("100%")
		if was != nil {
			c.From = was.String()
		}
		switch {
		case known:
			to = intstr.FromInt32(b.Status.ExpectedPods - b.Status.CurrentHealthy + n)
		case was != nil && was.Type == intstr.Int:
			to = intstr.FromInt32(was.IntVal + more)
		}
		raised.Spec.MaxUnavailable = &to
	}
	c.To = to.String()
	c.make = func(s *cluster.Snapshot, _ *Change) { must.Do(s.Set(raised)) }
	return c
}

// emptied says which budgets allow no further eviction once the pods have left that changes move or remove, and pods of which budgets give
// way to preemption, which asks no budget. A budget that another change raises, and one that allows nothing as it is, are left out.
func (b *budgets) emptied(changes []Change) (out []string) {
	used, given := map[int32]int32{}, map[int32]bool{}
	raised := func(pdb *policyv1.PodDisruptionBudget) bool {
		return slices.ContainsFunc(changes, func(c Change) bool {
			return c.Kind == RaiseBudget && c.Object == "PodDisruptionBudget "+pdb.Namespace+"/"+pdb.Name
		})
	}
	for _, c := range changes {
		for _, p := range c.remove {
			for _, k := range b.of(p) {
				if _, granted := b.pdbs[k].Status.DisruptedPods[p.Name]; !granted {
					used[k]++
					given[k] = given[k] || !c.evicts
				}
			}
		}
	}
	for k, pdb := range b.pdbs {
		n, allows := used[int32(k)], max(pdb.Status.DisruptionsAllowed, 0)
		switch name := pdb.Namespace + "/" + pdb.Name; {
		case n == 0 || raised(pdb):
		case given[int32(k)] && n > allows:
			out = append(out, "budget "+name+" is broken")
		case n == allows:
			out = append(out, "budget "+name+" then allows no eviction until they are ready again")
		}
	}
	return out
}
