package failures

import (
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
)

// budget is a disruption budget before the failure.
type budget struct {
	pdb              *policyv1.PodDisruptionBudget
	desired, healthy int32
}

// watchBudgets reads the disruption budgets. A budget without a status gets its minimum from its controllers; pods of a
// controller that is not among the objects are as many as it wants.
func (p *Planner) watchBudgets() {
	list := slices.Collect(cluster.List[*policyv1.PodDisruptionBudget](p.base).All())
	p.matching = disruption.NewBudgets(list, disruption.BudgetOptions{EmptySelectorMatchesAll: true})
	for _, b := range list {
		p.budgets = append(p.budgets, &budget{pdb: b, desired: b.Status.DesiredHealthy})
	}
	pods := make([][]*v1.Pod, len(list))
	var at []int32
	for i := range p.base.Len() {
		for pod := range p.base.Pods(i) {
			at = p.matching.AppendMatches(at[:0], pod.Namespace, pod.Labels)
			for _, k := range at {
				pods[k] = append(pods[k], pod)
				if healthy(pod) {
					p.budgets[k].healthy++
				}
			}
		}
	}
	for k, b := range p.budgets {
		if reflect.DeepEqual(b.pdb.Status, policyv1.PodDisruptionBudgetStatus{}) {
			b.desired = disruption.Sync(b.pdb, pods[k], p.scale, p.in.Now).Status.DesiredHealthy
		}
	}
}

// scale is the disruption.Scale of the planner's units.
func (p *Planner) scale(pod *v1.Pod, owner metav1.OwnerReference) (types.UID, int32, error) {
	u := p.unitOf[pod]
	return types.UID(u.String()), int32(u.want), nil
}

func (p *Planner) healthyBefore() []int32 {
	out := make([]int32, len(p.budgets))
	for k, b := range p.budgets {
		out[k] = b.healthy
	}
	return out
}

// count notes that n pods like this came, or -n left.
func (x *player) count(pod *v1.Pod, n int32) {
	if !healthy(pod) {
		return
	}
	for _, k := range x.matching.AppendMatches(nil, pod.Namespace, pod.Labels) {
		x.healthy[k] += n
		x.allowed = nil
	}
}

// preemptionBudgets returns the budgets as the disruption controller has them now, for preemption.
func (x *player) preemptionBudgets() *disruption.Budgets {
	if x.allowed != nil {
		return x.allowed
	}
	list := make([]*policyv1.PodDisruptionBudget, len(x.budgets))
	for k, b := range x.budgets {
		c := *b.pdb
		c.Status.DisruptionsAllowed = max(0, x.healthy[k]-b.desired)
		list[k] = &c
	}
	x.allowed = disruption.NewBudgets(list, disruption.BudgetOptions{})
	return x.allowed
}

// budgetsBelow returns the budgets that are below their minimum right after the failure or in the end, and have fewer healthy
// pods than before.
func (x *player) budgetsBelow() (out []Budget) {
	for k, b := range x.budgets {
		if low := min(x.lowest[k], x.healthy[k]); low < b.desired && low < b.healthy {
			out = append(out, Budget{
				Name: b.pdb.Namespace + "/" + b.pdb.Name, Minimum: b.desired, Before: b.healthy, Lost: x.lowest[k], After: x.healthy[k],
			})
		}
	}
	return out
}
