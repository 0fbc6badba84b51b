package drain

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/tools/report"
)

// prospects are the budgets' chances if the user waits and changes nothing.
type prospects struct {
	r       *replacer
	at      time.Time
	evicted map[*v1.Pod]disruption.Planned
	budgets map[string]*prospect // by name
}

// prospect is one budget with the pods that it selects.
type prospect struct {
	budget *policyv1.PodDisruptionBudget
	pods   []*v1.Pod
	known  bool
	remedy disruption.Remedy
}

// newProspects indexes the budgets: O(pods + matches).
func newProspects(in *input, r *replacer, waves [][]disruption.Planned, at time.Time) *prospects {
	p := &prospects{r: r, at: at, evicted: map[*v1.Pod]disruption.Planned{}, budgets: map[string]*prospect{}}
	for _, w := range waves {
		for _, e := range w {
			p.evicted[e.Pod] = e
		}
	}
	list := make([]*prospect, len(in.budgets))
	for i, b := range in.budgets {
		list[i] = &prospect{budget: b}
		p.budgets[budgetName(b)] = list[i]
	}
	index := disruption.NewBudgets(in.budgets, disruption.BudgetOptions{EmptySelectorMatchesAll: true})
	var matching []int32
	for _, pod := range in.objects.Pods {
		matching = index.AppendMatches(matching[:0], pod.Namespace, pod.Labels)
		for _, i := range matching {
			list[i].pods = append(list[i].pods, pod)
		}
	}
	return p
}

// instead returns what must be done although the Eviction API says "not now": the remedy of the first of the budgets for
// which waiting is not enough, one without a text when there is none.
func (p *prospects) instead(names []string) (disruption.Remedy, error) {
	for _, name := range names {
		x := p.budgets[name]
		if !x.known {
			var err error
			if x.remedy, err = p.remedy(x); err != nil {
				return disruption.Remedy{}, err
			}
			x.known = true
		}
		if x.remedy.Text != "" {
			return x.remedy, nil
		}
	}
	return disruption.Remedy{}, nil
}

// remedy returns what must be done before a budget can let a pod leave. It has no text when waiting can be enough: when more of its pods
// can be healthy than it needs.
func (p *prospects) remedy(x *prospect) (disruption.Remedy, error) {
	can, roomless, sick, err := p.healthy(x)
	need := x.budget.Status.DesiredHealthy
	switch {
	case err != nil || int64(can) > int64(need):
		return disruption.Remedy{}, err
	case len(sick) > 0:
		return disruption.Remedy{Kind: mendPods, Text: fmt.Sprintf("mend %s: %s", ownerOf(sick[0].pod), saysSick(sick))}, nil
	case roomless > 0:
		return disruption.Remedy{Text: fmt.Sprintf("make room or add a node: no node takes %s of the budget", report.Count(roomless, "more pod"))}, nil
	}
	return disruption.Remedy{Text: fmt.Sprintf("add pods: the budget needs %d healthy pods, and %d can be healthy", need, can)}, nil
}

// healthy returns how many pods of a budget can be healthy after a while, and how many find no node. Every pod on a node can
// become ready, unless it is sick. Replacements and pending pods need a node. Controllers make the pods that they lack, and take the place of
// pods that have ended or terminate.
func (p *prospects) healthy(x *prospect) (can, roomless int, sick []illness, err error) {
	seen := 0
	for _, pod := range x.pods {
		owner := metav1.GetControllerOf(pod)
		e, leaves := p.evicted[pod]
		switch {
		case cluster.Finished(pod) || pod.DeletionTimestamp != nil:
			if owner == nil || owner.Kind == "Job" {
				continue
			}
			can++
		case leaves && e.Replaced:
			can++
		case !leaves && pod.Spec.NodeName != "":
			if why := sickness(pod, p.at); why != "" {
				sick = append(sick, illness{pod, why})
			} else {
				can++
			}
		case leaves && owner == nil:
			continue
		case leaves:
			roomless++
		default:
			fits, err := p.r.fits(pod)
			switch {
			case err != nil:
				return 0, 0, nil, err
			case fits:
				can++
			default:
				roomless++
			}
		}
		seen++
	}
	if least := x.budget.Spec.MinAvailable; least == nil || least.Type == intstr.String { // a number expects the pods that are there
		can += max(0, int(x.budget.Status.ExpectedPods)-seen)
	}
	return can, roomless, sick, nil
}
