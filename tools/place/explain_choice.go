package place

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/tools/internal/must"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// wanted reports whether a node is one that -where wants.
type wanted func(n *v1.Node) bool

// wantedNodes reads -where: the name of a node, or a label selector. nil without -where.
func (x *simulation) wantedNodes(c *cluster.Snapshot) (wanted, error) {
	where := x.o.where
	if where == "" {
		return nil, nil
	}
	if c.Slot(where) >= 0 {
		return func(n *v1.Node) bool { return n.Name == where }, nil
	}
	selector, err := labels.Parse(where)
	if err != nil {
		return nil, fmt.Errorf("-where: Invalid value: %q: %w", where, err)
	}
	want := func(n *v1.Node) bool { return selector.Matches(labels.Set(n.Labels)) }
	var names []string
	for i := range c.Len() {
		if n := c.Node(i); n != nil {
			if want(n) {
				return want, nil
			}
			names = append(names, n.Name)
		}
	}
	return nil, fmt.Errorf("-where: Not found: %q: no node of that name, and no node with these labels%s", where, program.Near(where, names))
}

// diagnosed returns the input of package diagnose: a cluster with the budgets as they are now.
func (x *simulation) diagnosed(c *cluster.Snapshot, profile placement.Profile) diagnose.Input {
	profile.Volumes, profile.Devices = nil, nil
	s := c.Fork()
	x.w.disruptionBudgets()
	for _, b := range x.w.budgets {
		must.Do(s.Set(b.pdb))
	}
	return diagnose.Input{Snapshot: s, Profile: profile, Pending: x.w.pending, More: func(p *v1.Pod) int { return x.w.counted[key(p)] }, Autoscalers: x.w.objects.Autoscalers}
}

// choose compares the node of the decision with the best node that -where wants, or else with the best other node. Without a
// node that -where wants and that can take the pod it looks for changes. A pod that goes to its nominated node goes there without
// a comparison.
func (x *simulation) choose(ctx context.Context, e *explanation, q *asked, d placement.Decision, want wanted) {
	k := slices.IndexFunc(e.Nodes, func(n placement.NodeReport) bool {
		return n.Node != d.Node && n.Feasible() && (want == nil || want(q.cluster.Node(q.cluster.Slot(n.Node))))
	})
	switch {
	case want != nil && want(q.cluster.Node(d.Slot)):
		e.wish = fmt.Sprintf("%s is a node of %s.", d.Node, x.o.where)
	case q.pod.Status.NominatedNodeName == d.Node && (want == nil || k >= 0):
		e.wish = fmt.Sprintf("It is nominated to %s: this node is tried first, without scores.", d.Node)
	case k >= 0:
		in := x.diagnosed(q.cluster, q.scored)
		in.Stop = x.o.Stop(ctx)
		c := must.Get(diagnose.Compare(in, q.pod, e.Nodes[k].Node))
		e.Choice = c
		if want != nil {
			e.wish = fmt.Sprintf("The best node of %s is %s: %d points, %s has %d.", x.o.where, c.Other, c.OtherTotal, c.Chosen, c.ChosenTotal)
		}
	case want != nil:
		e.wish = fmt.Sprintf("No node of %s can take it.", x.o.where)
		x.relaxations(ctx, e, q, x.diagnosed(q.with, q.profile), want)
	}
}

// mostFlips is how many changes in favour of another node an explanation names.
const mostFlips = 2

// wishes says how the pod gets to the other node: the answer to -where, and what makes the decision choose that node.
func (e *explanation) wishes(b *strings.Builder) {
	if e.wish != "" {
		report.Textf(b, "%s\n", e.wish)
	}
	switch {
	case e.Choice == nil:
		if e.wish != "" && e.Node != "" {
			e.help(b)
		}
	case e.State != "Running" || e.wish != "":
		flips := slices.Clone(e.Choice.Flips)
		slices.SortStableFunc(flips, func(a, b diagnose.Flip) int { return int(min(a.Weight, 1) - min(b.Weight, 1)) }) // objects before weights
		for _, f := range flips[:min(mostFlips, len(flips))] {
			report.Textf(b, "Would go to %s: %s\n", e.Choice.Other, f.Text)
		}
	}
}

// margins says between which values each weight may move before the decision changes; nothing if no weight changes the decision.
func margins(c *diagnose.Comparison) string {
	var list []string
	for _, p := range c.Parts {
		if p.Least > 1 || p.Most >= 0 {
			most := "any"
			if p.Most >= 0 {
				most = fmt.Sprint(p.Most)
			}
			list = append(list, fmt.Sprintf("%s %d to %s", p.Plugin, p.Least, most))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return report.Escape(fmt.Sprintf("%s stays the choice with weights of %s.", c.Chosen, strings.Join(list, ", "))) + "\n"
}

// outlookText says what would wake the pod, and when pods leave.
func outlookText(o *diagnose.Outlook) string {
	var b strings.Builder
	var plugins []string
	events := map[string][]string{}
	for _, e := range o.Events {
		if events[e.Plugin] == nil {
			plugins = append(plugins, e.Plugin)
		}
		events[e.Plugin] = append(events[e.Plugin], e.Event)
	}
	if len(plugins) > 0 {
		b.WriteString("What wakes it:\n")
	}
	for _, p := range plugins {
		report.Textf(&b, "  %s: %s\n", p, strings.Join(events[p], ", "))
	}
	if len(o.Ends) > 0 {
		b.WriteString("Pods that leave:\n")
	}
	for _, e := range o.Ends[max(0, len(o.Ends)-mostEnds):] {
		wakes := ""
		if e.Wakes {
			wakes = ", which wakes it"
		}
		report.Textf(&b, "  %s: %s leaves %s (%s)%s\n", e.At.UTC().Format(time.RFC3339), e.Pod, e.Node, e.Why, wakes)
	}
	switch {
	case o.At != nil:
		report.Textf(&b, "Then it goes to %s.\n", o.Node)
	case o.Cut != "":
		b.WriteString("The time ended before later ends were tried.\n")
	case len(o.Ends) > 0:
		b.WriteString("None of these makes room for it.\n")
	}
	return b.String()
}

// mostEnds is how many ends of running pods an explanation lists; the last of them makes room.
const mostEnds = 5
