package disruption

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// This file is about sets of pods that leave together.

// refusedUnit is the pod of a unit that the Eviction API refuses, and the answer.
type refusedUnit struct {
	pod      *v1.Pod
	decision Decision
}

// unit returns the name of the set that a pod leaves with, "" for a pod that leaves alone.
func (p *planner) unit(pod *v1.Pod) string {
	if p.in.Unit == nil {
		return ""
	}
	return p.in.Unit(pod)
}

// units puts the pods of a unit together, where its first pod stands.
func (p *planner) units(pods []*v1.Pod) (out [][]*v1.Pod) {
	at := map[string]int{}
	for _, pod := range pods {
		name := p.unit(pod)
		if k, there := at[name]; there && name != "" {
			out[k] = append(out[k], pod)
			continue
		}
		at[name] = len(out)
		out = append(out, []*v1.Pod{pod})
	}
	return out
}

// withUnits adds the other pods of the units of leaving pods, from whatever node. A unit with a pod that a drain does not take stays whole.
func (p *planner) withUnits(leaving []*v1.Pod) []*v1.Pod {
	if p.in.Unit == nil {
		return leaving
	}
	units, there, stays := map[string]bool{}, map[*v1.Pod]bool{}, map[string]string{}
	for _, pod := range leaving {
		units[p.unit(pod)], there[pod] = true, true
	}
	delete(units, "")
	for _, b := range p.plan.Blocked {
		if name := p.unit(b.Pod); units[name] {
			stays[name] = fmt.Sprintf("%s leaves only together with pod %s: %s", name, podinfo.Name(b.Pod), b.Cause)
		}
		there[b.Pod] = true
	}
	for _, pod := range p.in.Pods {
		if pod == nil || there[pod] || pod.Spec.NodeName == "" || podinfo.Finished(pod) || !units[p.unit(pod)] {
			continue
		}
		name := p.unit(pod)
		if t, reason := treat(pod, p.in.Options, p.in.Now); t != leave {
			stays[name] = fmt.Sprintf("%s leaves only together with pod %s: %s", name, podinfo.Name(pod), reason)
			continue
		}
		leaving = append(leaving, pod)
	}
	return slices.DeleteFunc(leaving, func(pod *v1.Pod) bool {
		name := p.unit(pod)
		if stays[name] != "" {
			p.plan.Blocked = append(p.plan.Blocked, Blocked{Pod: pod, Unit: name, Cause: stays[name], Remedies: []Remedy{{Text: "see the pod that stays"}}})
		}
		return stays[name] != ""
	})
}

// evict asks for the evictions of all pods of a unit. When one is refused, nothing is charged, and refused is that pod with its answer.
func (p *planner) evict(unit []*v1.Pod) (list []Planned, refused *v1.Pod, answer Decision) {
	if len(unit) > 1 {
		saved := slices.Clone(p.evictions.pdbs)
		defer func() {
			if refused != nil {
				p.evictions.pdbs = saved
			}
		}()
	}
	for _, pod := range unit {
		d := p.evictions.Evict(pod, p.request(pod), p.now)
		if !d.Allowed() {
			return nil, pod, d
		}
		list = append(list, Planned{Pod: pod, Budgets: budgetNames(d.covering), Decision: d})
	}
	return list, nil, answer
}

// block says that a unit stays, because one of its pods is refused.
func (p *planner) block(unit []*v1.Pod, refused *v1.Pod, d Decision) {
	why := p.blocked(refused, d)
	if len(unit) == 1 {
		p.plan.Blocked = append(p.plan.Blocked, why)
		return
	}
	why.Unit = p.unit(refused)
	why.Cause = fmt.Sprintf("%s leaves whole or not at all; pod %s: %s", why.Unit, podinfo.Name(refused), why.Cause)
	if d.kind == exhausted {
		p.never(&why, unit, d.by)
	}
	for _, pod := range unit {
		own := why
		own.Pod, own.Budgets = pod, budgetNames(p.evictions.covering(pod))
		p.plan.Blocked = append(p.plan.Blocked, own)
	}
}

// never says so when a budget never lets as many pods leave at once as a unit has of the budget's pods.
func (p *planner) never(why *Blocked, unit []*v1.Pod, b *policyv1.PodDisruptionBudget) {
	n, most := int32(0), max(0, b.Status.ExpectedPods-b.Status.DesiredHealthy)
	for _, pod := range unit {
		if slices.Contains(budgetNames(p.evictions.covering(pod)), budgetName(b)) {
			n++
		}
	}
	if n <= most {
		return
	}
	why.WaitingHelps = false
	why.Proof = fmt.Sprintf("budget %s lets at most %d of %d pods leave at once, and %s has %d of them", budgetName(b), most, b.Status.ExpectedPods, why.Unit, n)
	why.Remedies = []Remedy{{Text: fmt.Sprintf("let budget %s allow %d disruptions, or make the group again with disruption mode Single", budgetName(b), n)}}
}
