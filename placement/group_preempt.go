package placement

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/preemption"
)

// groupPreemption is what the plugins say about an unschedulable group.
type groupPreemption struct {
	found    bool     // the group waits for victims
	reasons  []string // appended to the message of the group
	failed   string   // the error of a plugin
	victims  []preemption.Placed
	nominate map[*v1.Pod]string
	claims   devices.GroupFreed
	summary  *PreemptionSummary // nil: no victims were looked for
}

// victimUnit is a unit of pods that may leave.
type victimUnit struct {
	*podUnit
	violations int // pods that break a budget
	out        bool
}

// preempt asks the plugins with a say about groups, and then looks for victims.
func (r *groupRun) preempt(t *groupTrial) *groupPreemption {
	var reasons []string
	root := r.tree.Root()
	f := GroupFailure{Group: root.Group, Constrained: r.constrained(), Scheduled: r.scheduled(root) > 0, Members: r.reached, Tie: r.o.Tie}
	var claims devices.GroupFreed
	for _, plugin := range r.p.profile.Filters {
		if plugin.GroupPostFilter == nil {
			continue
		}
		answer, err := plugin.GroupPostFilter(f)
		switch claims = answer.Claims; {
		case err != nil:
			return &groupPreemption{failed: podgroup.PostFilterErrorText(plugin.Name, err.Error()), claims: claims}
		case answer.Ends:
			return &groupPreemption{reasons: answer.Reasons, claims: claims}
		}
		reasons = append(reasons, answer.Reasons...)
	}
	won, code := r.victims()
	won.claims = claims
	won.summary.Code = code
	switch code {
	case filter.Error:
		won.failed = podgroup.PreemptionErrorText(won.reasons[0])
	case filter.Unschedulable:
		won.reasons = append(reasons, won.reasons...)
	}
	return won
}

// victims looks for units that make room for the group, if it may preempt and does not wait for victims.
func (r *groupRun) victims() (*groupPreemption, filter.Code) {
	won := &groupPreemption{summary: &PreemptionSummary{}}
	switch {
	case podgroup.NeverPreempts(r.tree.Root().Spec, r.live, r.o.Gates):
		won.reasons = []string{podgroup.TextNever}
		return won, filter.Unschedulable
	case r.ongoing():
		won.found, won.reasons, won.nominate, won.summary.Ongoing = true, []string{podgroup.TextOngoing}, map[*v1.Pod]string{}, true
		for _, pod := range r.live {
			won.nominate[pod] = pod.Status.NominatedNodeName
		}
		return won, filter.Success
	}
	end := r.begin(PreemptionStep)
	code := r.search(won)
	end(code)
	return won, code
}

// search finds the victims.
func (r *groupRun) search(won *groupPreemption) filter.Code {
	units := r.units()
	if len(units) == 0 {
		won.reasons = []string{podgroup.TextNoVictims}
		return filter.UnschedulableAndUnresolvable
	}
	mark := r.p.snapshot.Mark()
	defer r.p.snapshot.Rollback(mark)
	for _, u := range units {
		r.remove(u)
	}
	t := r.root()
	if t.status.code != filter.Success {
		won.reasons = []string{podgroup.TextPreemption + t.status.text()}
		return t.status.code
	}
	proposed := t.proposed()
	r.reprieve(units, proposed)
	won.found, won.nominate = true, map[*v1.Pod]string{}
	for _, u := range units {
		if !u.out {
			continue
		}
		won.victims = append(won.victims, u.pods...)
		won.summary.Violations += u.violations
		if u.Kind != podgroup.SinglePod {
			won.summary.Groups++
		}
	}
	for _, m := range proposed {
		won.nominate[m.pod] = m.d.Node
	}
	won.reasons = []string{podgroup.FoundText(len(won.victims))}
	return filter.Success
}

// ongoing reports whether the nominated node of a member has a victim that is leaving.
func (r *groupRun) ongoing() bool {
	priority := r.tree.Root().EffectivePriority()
	for _, pod := range r.live {
		slot, ok := r.p.Slot(pod.Status.NominatedNodeName)
		if !ok {
			continue
		}
		for q := range r.p.snapshot.Pods(slot) {
			if q.DeletionTimestamp != nil && preemption.Preempted(q) && r.unitPriority(q) < priority {
				return true
			}
		}
	}
	return false
}

// unitPriority is the priority of the unit of a pod.
func (r *groupRun) unitPriority(q *v1.Pod) int32 {
	_, priority := unitOf(r.p.snapshot, q, r.o.Gates)
	return priority
}

// units returns the units of lower priority, the more important first.
func (r *groupRun) units() []*victimUnit {
	var all []*victimUnit
	priority := r.tree.Root().EffectivePriority()
	for _, u := range podUnits(r.p.cluster, r.p.snapshot, r.p.preemption().leaving(priority), r.o.Gates, r.o.Preempt.Now, int64(priority)) {
		if u.Priority < priority {
			all = append(all, &victimUnit{podUnit: u})
		}
	}
	slices.SortStableFunc(all, func(a, b *victimUnit) int { return podgroup.CompareUnits(a.Unit, b.Unit) })
	r.violations(all)
	return all
}

// violations marks the units that break a disruption budget; the more important units draw from the budgets first.
func (r *groupRun) violations(units []*victimUnit) {
	budgets := r.o.Preempt.Budgets
	if budgets == nil {
		budgets = r.p.preemption().budgetsNow()
	}
	ledger := budgets.Ledger()
	for _, u := range units {
		for _, q := range u.pods {
			if charged(budgets, ledger, q.Pod) {
				u.violations++
			}
		}
	}
}

func charged(budgets *disruption.Budgets, ledger *disruption.Ledger, q *v1.Pod) bool {
	return ledger.TakeToBroken(budgets.AppendMatches(nil, q.Namespace, q.Labels), q.Name)
}

// remove takes the pods of a unit off their nodes.
func (r *groupRun) remove(u *victimUnit) {
	for _, q := range u.pods {
		if err := r.p.snapshot.Remove(q.Pod); err != nil {
			panic("placement: a pod of the snapshot cannot leave it: " + err.Error())
		}
	}
}

// reprieve lets units come back while every member still fits on its node: first the units that break a budget.
func (r *groupRun) reprieve(units []*victimUnit, proposed []*memberTrial) {
	for _, violating := range [...]bool{true, false} {
		for _, u := range units {
			if (u.violations > 0) != violating {
				continue
			}
			for _, q := range u.pods {
				if err := r.p.snapshot.Assume(q.Pod, q.Slot); err != nil {
					panic("placement: a pod cannot return to its node: " + err.Error())
				}
			}
			if u.out = !r.allFit(proposed); u.out {
				r.remove(u)
			}
		}
	}
}

// allFit reports whether the filters allow each member on its node, one after the other.
func (r *groupRun) allFit(proposed []*memberTrial) bool {
	defer r.undo(0)
	for _, m := range proposed {
		o := r.o.Options
		o.Nominated = r.nominated()
		a := r.p.Prepare(m.pod)
		if a.Rejected() || !a.named(m.d.Slot) || a.checked(o)(m.d.Slot).Verdict != 0 {
			return false
		}
		d := a.Decision(m.d.Slot)
		if r.assume(m.pod, d) != nil {
			return false
		}
	}
	return true
}
