package place

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/gang"
	"github.com/podberth/podberth/planning/gang/proof"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/report"
)

// member reports whether the pod is decided with a group.
func (x *simulation) member(pod *v1.Pod) bool {
	_, ok := podgroup.Of(pod)
	return ok && x.w.groups != nil
}

// withGroup makes an answer about a pod alone one about the pod in its group, after the run.
func (x *simulation) withGroup(ctx context.Context, e *explanation, pod *v1.Pod) {
	last, ok := x.last[key(pod)]
	if !ok {
		return
	}
	name, _ := podgroup.Of(pod)
	state := ""
	groups, _ := x.groups()
	for _, g := range groups {
		if g.Namespace == pod.Namespace && g.Name == name {
			e.Group = &g
			state = fmt.Sprintf(": %s needed, %d exist, %d have nodes", report.Count(g.Needs, "pod"), g.Pods, g.Placed)
		}
	}
	alone := e.Node
	e.Outcome, e.Node, e.Message = last.Outcome, last.Node, last.Message
	e.Preemption, e.Outlook, e.Help, e.Remedies, e.Dropped, e.tried, e.left = nil, nil, []string{}, nil, nil, "", nil // of the pod alone
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
	e.node, e.Choice, e.why, e.Cause, e.held = nil, nil, nil, nil, true
	why := last.Message
	if e.Group != nil && e.Group.Reason != "" && e.Group.Reason != podgroup.ReasonScheduled && e.Group.Message != "" {
		why = e.Group.Message
	}
	if e.Group != nil && e.Group.Reason == "" && e.Group.Message != "" && len(pod.Spec.SchedulingGates) == 0 {
		why = e.Group.Message // names the member that a gate holds
	}
	lines, err := x.gang(ctx, e, pod, name)
	if len(lines) > 0 {
		e.waits, e.said = append(lines, e.waits...), fmt.Sprintf("%swaits with its group %s%s.", subject, name, state)
		for _, m := range e.Gang.States {
			if m.Pod == key(pod) && e.Gang.Members >= e.Gang.Needed {
				e.said = fmt.Sprintf("%sin group %s: %s.", subject, name, m.State)
			}
		}
		return
	}
	own := fmt.Sprintf("%swaits with its group %s%s.", subject, name, state)
	if why != "" {
		own += " " + strings.TrimSuffix(strings.ToUpper(why[:1])+why[1:], ".") + "."
	}
	if err != nil && !strings.Contains(why, err.Error()) {
		own += " " + unknownPlace(err)
	}
	e.waits, e.said = append([]string{own}, e.waits...), fmt.Sprintf("Without its group %d of %d nodes could take it.", e.Feasible, e.Of)
	if alone != "" && len(pod.Spec.SchedulingGates) == 0 {
		e.said = fmt.Sprintf("Without its group it would go to %s.", alone)
	}
}

// gang returns why the group of a member waits, and notes what helps. No lines: nothing is known. The error is that of the search.
func (x *simulation) gang(ctx context.Context, e *explanation, pod *v1.Pod, group string) ([]string, error) {
	d, held, err := x.difference(ctx, pod, group)
	if d == nil {
		return nil, err
	}
	e.Gang = d
	for _, h := range d.Help {
		e.Help = append(e.Help, h.Text)
	}
	lines := append(d.Why(), x.strangers(pod.Namespace, group)...)
	if e.Group != nil {
		e.Group.Why = lines
	}
	if d.Members < d.Needed {
		lines = append(lines, fmt.Sprintf("Held: %s.", firstNames(held)))
	}
	return lines, nil
}

// unknownPlace says that the search for a place met an error.
func unknownPlace(err error) string {
	return fmt.Sprintf("Whether a place exists is not known: %v.", err)
}

// difference explains the group of a member, with the members that wait: as it was when the pod of the question was tried for the last time, and
// as the cluster is after the run for others. nil: the group has no object, a member is gated, or members disagree: the messages say so.
func (x *simulation) difference(ctx context.Context, pod *v1.Pod, group string) (d *gang.Difference, held []string, err error) {
	x.w.s.View(func(c *cluster.Snapshot) {
		if at := x.attempted; at != nil && key(pod) == x.o.explain {
			c = at.c
		}
		tree, missing := podgroup.TreeOf(c, pod.Namespace, group, *x.w.groups)
		if missing != nil {
			return
		}
		q := proof.Question{Snapshot: c, Gates: *x.w.groups, Profile: x.profile(pod)}
		q.Profile.Volumes, q.Profile.Devices = nil, nil // the search has its own
		for _, p := range x.w.pending {
			name, ok := podgroup.Of(p)
			if p = x.w.pods[key(p)]; !ok || p == nil || p.Namespace != pod.Namespace || tree.Home(name) == nil || p.Spec.NodeName != "" {
				continue
			}
			if len(p.Spec.SchedulingGates) > 0 { // one gate holds all of them
				return
			}
			q.Queued, held = append(q.Queued, p), append(held, p.Name)
		}
		for _, p := range x.w.dying {
			if name, _ := podgroup.Of(p); p.Namespace == pod.Namespace && tree.Home(name) != nil {
				q.Queued = append(q.Queued, p)
			}
		}
		var out gang.Difference
		if out, err = gang.Explain(q, gang.Options{Stop: x.o.Stop(ctx)}); err != nil {
			return
		}
		d = &out
		err = nameCause(q, d)
	})
	return d, held, err
}

// nameCause replaces the text of the member at which kube-scheduler gives a group up by the cause that why gives of a pod without a group: why it
// finds no node beside the members before it. The text stays where the group must stay in a domain, and for pods with claims: a cause does
// not know what these take.
func nameCause(q proof.Question, d *gang.Difference) error {
	if d.Stuck == "" || d.Domain != "" {
		return nil
	}
	fork := q.Snapshot.Fork()
	plan, err := placement.New(fork, q.Profile)
	if err != nil {
		return err
	}
	byName := map[string]*v1.Pod{}
	for _, p := range q.Queued {
		if len(p.Spec.ResourceClaims)+len(p.Spec.Volumes) > 0 {
			return nil
		}
		byName[key(p)] = p
	}
	for _, m := range d.States {
		if m.Node != "" {
			if err := fork.Assume(byName[m.Pod], fork.Slot(m.Node)); err != nil {
				return err
			}
		}
	}
	if cause := diagnose.CauseOf(plan, fork, byName[d.Stuck]); cause != nil {
		d.Cause = cause.Text
		if said, is := strings.CutPrefix(cause.Text, "it "); is { // the sentence before is about the group
			d.Cause = byName[d.Stuck].Name + " " + said
		}
	}
	return nil
}

// strangers says which members of a group's tree other schedulers try; nil for none.
func (x *simulation) strangers(namespace, group string) (lines []string) {
	x.w.s.View(func(c *cluster.Snapshot) {
		tree, err := podgroup.TreeOf(c, namespace, group, *x.w.groups)
		if err != nil {
			return
		}
		for _, p := range x.w.strangers {
			if name, _ := podgroup.Of(p); p.Namespace == namespace && tree.Home(name) != nil {
				lines = append(lines, fmt.Sprintf("%s waits for scheduler %q, and counts once it has a node", p.Name, dump.SchedulerName(p)))
			}
		}
	})
	if n := len(lines); n > 3 {
		lines = append(lines[:3], fmt.Sprintf("%d more the same", n-3))
	}
	return lines
}

// mostExplained is how many groups that wait the answer about all pods explains.
const mostExplained = 10

// explainGroups says why the first groups wait. The groups of a tree wait for the same reason, which is looked for once.
func (x *simulation) explainGroups(ctx context.Context, groups []groupState) {
	known := map[string][]string{} // by root
	for k := range groups {
		g := &groups[k]
		if g.Placed >= g.Needs {
			continue
		}
		at := slices.IndexFunc(x.w.pending, func(p *v1.Pod) bool {
			name, ok := podgroup.Of(p)
			return ok && name == g.Name && p.Namespace == g.Namespace
		})
		root := x.rootOf(g)
		lines, is := known[root]
		if at < 0 || !is && len(known) == mostExplained {
			continue
		}
		if !is {
			switch d, _, err := x.difference(ctx, x.w.pending[at], g.Name); {
			case d != nil:
				lines = slices.Concat(d.Why(), x.strangers(g.Namespace, g.Name), d.Lines()[len(d.Why()):])
			case err != nil && !strings.Contains(g.Message, err.Error()):
				lines = []string{unknownPlace(err)}
			}
			known[root] = lines
		}
		g.Why, g.root = lines, root
	}
}

// rootOf names the root of a group's tree; the group itself when an object above it is missing.
func (x *simulation) rootOf(g *groupState) (root string) {
	x.w.s.View(func(c *cluster.Snapshot) {
		root = g.Group
		if tree, err := podgroup.TreeOf(c, g.Namespace, g.Name, *x.w.groups); err == nil {
			root = tree.Root().String()
		}
	})
	return root
}
