package place

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/tools/report"
)

// member reports whether the pod is decided with a group.
func (x *simulation) member(pod *v1.Pod) bool {
	_, ok := podgroup.Of(pod)
	return ok && x.w.groups != nil
}

// withGroup makes an answer about a pod alone one about the pod in its group, after the run.
func (x *simulation) withGroup(e *explanation, pod *v1.Pod) {
	last, ok := x.last[key(pod)]
	if !ok {
		return
	}
	name, _ := podgroup.Of(pod)
	state := ""
	for _, g := range x.groups() {
		if g.Namespace == pod.Namespace && g.Name == name {
			e.Group = &g
			state = fmt.Sprintf(": %s needed, %d exist, %d have nodes", report.Count(g.Needs, "pod"), g.Pods, g.Placed)
		}
	}
	alone := e.Node
	e.Outcome, e.Node, e.Message = last.Outcome, last.Node, last.Message
	e.Preemption, e.Outlook, e.Help, e.Dropped, e.tried, e.left = nil, nil, []string{}, nil, "", nil // of the pod alone
	e.waits = nil
	members := map[string]bool{}
	for _, m := range x.w.pending {
		if other, _ := podgroup.Of(m); other == name && m.Namespace == pod.Namespace {
			members[key(m)] = true
		}
	}
	for _, a := range x.entries { // victims stand at the first member of the group
		if members[a.Pod] && len(a.Victims) > 0 {
			e.waits = append(e.waits, fmt.Sprintf("For the group %s gave way.", firstNames(a.Victims)))
		}
	}
	subject := fmt.Sprintf("Pod %s ", key(pod))
	switch {
	case last.Outcome == outcomeScheduled:
		if alone != last.Node {
			e.node, e.Choice, e.why = x.w.nodes[last.Node], nil, nil
		}
		e.Cause = nil
		e.said = fmt.Sprintf("%sgoes to %s with its group %s%s.", subject, last.Node, name, state)
		return
	case last.Outcome == outcomeGated && len(pod.Spec.SchedulingGates) == 0:
		e.State = "Gated"
	}
	e.node, e.Choice, e.why, e.Cause = nil, nil, nil, nil
	why := last.Message
	if e.Group != nil && e.Group.Reason != "" && e.Group.Reason != podgroup.ReasonScheduled && e.Group.Message != "" {
		why = e.Group.Message
	}
	own := fmt.Sprintf("%swaits with its group %s%s.", subject, name, state)
	if why != "" {
		own += " " + strings.TrimSuffix(strings.ToUpper(why[:1])+why[1:], ".") + "."
	}
	e.waits, e.said = append([]string{own}, e.waits...), fmt.Sprintf("Without its group %d of %d nodes could take it.", e.Feasible, e.Of)
	if alone != "" && len(pod.Spec.SchedulingGates) == 0 {
		e.said = fmt.Sprintf("Without its group it would go to %s.", alone)
	}
}
