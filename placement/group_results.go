package placement

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/podgroup"
)

// This file turns the trials of a tree into what is written about groups and members.

// decide evaluates the tree, preempts if that may help, and writes the decision.
func (r *groupRun) decide() GroupDecision {
	t := r.root()
	r.found(t)
	if t.status.code == filter.Unschedulable && r.o.Complete != nil {
		switch whole, err := r.complete(); {
		case err != nil:
			setStatus(t, errorStatus(err.Error()))
		case whole != nil:
			t = whole
		}
	}
	d := &r.decision
	d.Code = t.status.code
	inherit(t, nil)
	early := map[*v1.Pod]string{} // what members took from their group before preemption spoke
	taken(t, early)
	var won *groupPreemption
	if d.Code == filter.Unschedulable && r.o.Preempt != nil {
		won = r.preempt(t)
	}
	if won != nil {
		d.Claims, d.Preemption = won.claims, won.summary
	}
	if won != nil && won.failed != "" { // the error of a plugin is that of the whole tree
		setStatus(t, errorStatus(won.failed))
	} else if won != nil {
		appendReason(t, won.reasons...)
		d.Waiting, d.Victims = won.found, won.victims
	}
	r.report(t, won, early)
	d.Next = r.next
	return *d
}

// found notes which members found nodes.
func (r *groupRun) found(t *groupTrial) {
	for _, m := range t.proposed() {
		r.decision.Members[r.at[m.pod]].Found = m.d.Node
	}
}

// inherit gives the status of the nearest failed ancestor to each node below it that was successful or not tried. Members of such nodes
// lose their own results.
func inherit(t *groupTrial, failed *groupStatus) {
	if failed != nil && (t.status == nil || t.status.code == filter.Success || failed.code == filter.Error) {
		t.status = failed
		for k := range t.members {
			t.members[k] = memberTrial{pod: t.members[k].pod, d: Decision{Slot: -1}}
		}
	}
	below := failed
	if t.status.code != filter.Success {
		below = t.status
	}
	for _, child := range t.children {
		inherit(child, below)
	}
}

// taken writes the text of the group for each member that was not tried.
func taken(t *groupTrial, early map[*v1.Pod]string) {
	for _, m := range slices.Concat(t.members, t.strays) {
		if !m.done && t.status.code != filter.Success {
			early[m.pod] = t.status.text()
		}
	}
	for _, child := range t.children {
		taken(child, early)
	}
}

func setStatus(t *groupTrial, s *groupStatus) {
	t.status = s
	for _, child := range t.children {
		setStatus(child, s)
	}
}

// appendReason appends to the status of each node: to a status that nodes share once for each of them.
func appendReason(t *groupTrial, reasons ...string) {
	if len(reasons) > 0 {
		t.status.reasons = append(t.status.reasons, reasons...)
	}
	for _, child := range t.children {
		appendReason(child, reasons...)
	}
}

// report writes the outcome of each group and member.
func (r *groupRun) report(t *groupTrial, won *groupPreemption, early map[*v1.Pod]string) {
	if t.node.Group != nil {
		r.decision.Groups = append(r.decision.Groups, outcomeOf(t))
	}
	for _, m := range slices.Concat(t.members, t.strays) {
		r.member(&r.decision.Members[r.at[m.pod]], t.status, m, won, early)
	}
	for _, child := range t.children {
		r.report(child, won, early)
	}
}

func outcomeOf(t *groupTrial) GroupOutcome {
	switch t.status.code {
	case filter.Success:
		return GroupOutcome{t.node.Group, podgroup.ReasonScheduled, ""}
	case filter.Error:
		return GroupOutcome{t.node.Group, podgroup.ReasonSchedulerError, t.status.text()}
	}
	return GroupOutcome{t.node.Group, podgroup.ReasonUnschedulable, t.status.text()}
}

// member writes what becomes of one member.
func (r *groupRun) member(out *MemberOutcome, s *groupStatus, m memberTrial, won *groupPreemption, early map[*v1.Pod]string) {
	own := m.done && !m.d.Placed()
	switch {
	case s.code == filter.Success && m.done && m.d.Placed():
		out.Decision, out.Nominate = m.d, ""
		return
	case s.code == filter.Error && !(own && m.d.Failure.Code == filter.Error):
		out.Code, out.Text, out.Nominate = filter.Error, s.text(), ""
		return
	case own:
		out.Decision = m.d
		out.Code, out.Text = m.d.Failure.Code, m.d.Failure.Text()
	case m.done: // placed by its own attempt, and undone
		out.Code, out.Text = filter.Unschedulable, s.text()
		if won == nil || !won.found {
			out.Text, out.Nominate = podgroup.Join(podgroup.TextUnschedulable, out.Text), ""
		}
	default:
		out.Code, out.Text = filter.Unschedulable, early[m.pod]
	}
	if won != nil && won.found {
		if node, ok := won.nominate[m.pod]; ok {
			out.Nominate = node
		}
	}
}
