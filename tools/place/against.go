package place

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/tools/internal/must"
	"github.com/podberth/podberth/tools/page"
	"github.com/podberth/podberth/tools/report"
)

// comparison is the answer to -against, in the form in which it is printed.
type comparison struct {
	report.Head
	Summary        differences `json:"summary"`        // how many pods differ; each pod counts once
	Configurations [2]side     `json:"configurations"` // the cluster after the run with A, then with B
	Pods           []moved     `json:"pods"`           // the pods that differ, in the order of the input
}

// differences counts the pods whose ends differ. A pod counts in one of the first three.
type differences struct {
	OtherNode int `json:"otherNode"` // pods that have a node with both configurations, not the same
	OnlyA     int `json:"onlyA"`     // pods that have a node with A alone
	OnlyB     int `json:"onlyB"`     // pods that have a node with B alone
	Other     int `json:"other"`     // pods without a node that end in different ways
	Same      int `json:"same"`      // pods that end in the same way
}

// moved is a pod whose ends differ.
type moved struct {
	Pod      string `json:"pod"`
	Priority int32  `json:"priority"` // the priority
	A        ending `json:"a"`        // what becomes of the pod with A
	B        ending `json:"b"`        // what becomes of the pod with B
}

// ending is what has become of a pod.
type ending struct {
	// An outcome of a Simulation's pod, or Running: it has a node in the input and keeps it.
	Outcome     string `json:"outcome"`
	Node        string `json:"node"`        // the node; "" without
	PreemptedBy string `json:"preemptedBy"` // the pod to which it gives way; "" if it does not
	Message     string `json:"message"`     // the message of the last attempt
}

// runs is the outcome of a pod that has a node in the input and keeps it.
const outcomeRuns = "Running"

func (e ending) String() string {
	switch {
	case e.PreemptedBy != "":
		return "gives way to " + e.PreemptedBy
	case e.Node != "":
		return e.Node
	}
	return e.Outcome
}

// against decides about the input with two configurations and says what differs.
func against(ctx context.Context, out *bytes.Buffer, o options, stdin io.Reader, stderr io.Writer) (v verdict) {
	var text bytes.Buffer // of standard input, for the second run
	first := o
	first.against = ""
	a := played(ctx, first, io.TeeReader(stdin, &text), stderr, stderr)
	b := played(ctx, o, &text, stderr, io.Discard)
	v.asides = a.w.asides
	c := comparison{Head: report.HeadOf("ConfigurationDifference"), Pods: []moved{}}
	c.Configurations = [2]side{a.side(o.config), b.side(o.against)}
	ours, theirs := a.endings(), b.endings()
	for _, p := range a.w.objects.Pods {
		name := key(p)
		x, known := ours[name]
		y, also := theirs[name]
		if !known && !also || !o.Tables.Shows(p.Namespace) {
			continue
		}
		switch {
		case x.Node == y.Node && x.Outcome == y.Outcome && x.PreemptedBy == y.PreemptedBy:
			c.Summary.Same++
			continue
		case x.Node != "" && y.Node != "":
			c.Summary.OtherNode++
		case x.Node != "":
			c.Summary.OnlyA++
		case y.Node != "":
			c.Summary.OnlyB++
		default:
			c.Summary.Other++
		}
		c.Pods = append(c.Pods, moved{name, preemption.Priority(p), x, y})
	}
	for _, e := range theirs {
		v.unplaced = v.unplaced || e.Node == ""
		v.failed = v.failed || e.Outcome == outcomeRefused || e.Outcome == outcomeError
	}
	if o.Output == page.Form {
		p := b.page("Two configurations of the scheduler")
		p.Summary, p.Text = c.String(), c.text(page.Layout())
		for _, m := range c.Pods {
			p.Tell(page.Pod{Name: m.Pod, State: "differs", Message: fmt.Sprintf("A: %v. B: %v. %s", m.A, m.B, m.B.Message)})
		}
		must.Do(p.Write(out))
		return v
	}
	out.Write(must.Get(report.Render(o.Output, c, func(b *strings.Builder) { b.WriteString(c.text(o.Tables.Layout)) })))
	return v
}

// played returns a run to its end. The warnings about the input go to inputs.
func played(ctx context.Context, o options, stdin io.Reader, stderr, inputs io.Writer) *simulation {
	var timeline []event
	if o.timeline != "" {
		timeline = must.Get(readTimeline(o.timeline, o.Input))
	}
	with, warnings, err := optionsOf(o, stderr)
	must.Do(err)
	w := must.Get(load(o, with.Profiles, timeline, stdin, inputs))
	for _, text := range warnings {
		report.Textf(stderr, "warning: %s\n", text)
	}
	for _, n := range w.objects.Nodes {
		must.Get(o.price(n))
	}
	x := must.Get(newSimulation(w, o, timeline, with, stderr))
	must.Do(x.run(ctx))
	x.notes.Print(inputs)
	return x
}

// endings returns what has become of every pod of the input that the run decided about, or that had a node.
func (x *simulation) endings() map[string]ending {
	out := map[string]ending{}
	for _, s := range x.answer().Pods {
		e := ending{s.Outcome, s.Node, s.PreemptedBy, s.Message}
		if e.PreemptedBy != "" {
			e.Node = ""
		}
		out[s.Pod] = e
	}
	for _, p := range x.w.objects.Pods {
		name := key(p)
		if _, decided := out[name]; decided || p.Spec.NodeName == "" || cluster.Finished(p) {
			continue
		}
		out[name] = ending{Outcome: outcomeRuns, Node: p.Spec.NodeName}
		if by := x.gaveWay[name]; by != "" {
			out[name] = ending{Outcome: outcomePreempted, PreemptedBy: by}
		}
	}
	return out
}

// String is the answer in one line.
func (c *comparison) String() string {
	s := c.Summary
	differ := s.OtherNode + s.OnlyA + s.OnlyB + s.Other
	if differ == 0 {
		return fmt.Sprintf("No difference: %s the same with both configurations.", report.Count(s.Same, "pod"))
	}
	var parts []string
	for _, part := range []struct {
		n    int
		text string
	}{{s.OtherNode, "on another node"}, {s.OnlyB, "with a node in B alone"}, {s.OnlyA, "with a node in A alone"}, {s.Other, "with another outcome"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.text))
		}
	}
	return fmt.Sprintf("%d of %s differ: %s.", differ, report.Count(differ+s.Same, "pod"), strings.Join(parts, ", "))
}

// text is the answer for people.
func (c *comparison) text(layout report.Layout) string {
	var b strings.Builder
	if !layout.NoHeaders {
		report.Textf(&b, "%s\nA: %s\nB: %s\n", c, configurationName(c.Configurations[0].File), configurationName(c.Configurations[1].File))
	}
	if len(c.Pods) > 0 {
		var rows [][]string
		for _, m := range c.Pods {
			rows = append(rows, []string{m.Pod, fmt.Sprint(m.Priority), m.A.String(), m.B.String()})
		}
		layout.Section(&b, "", []string{"POD", "PRIORITY", "A", "B"}, rows)
	}
	layout.Section(&b, "", []string{"", "A", "B"}, measures(c.Configurations[0], c.Configurations[1]))
	return b.String()
}

// configurationName names a configuration.
func configurationName(file string) string {
	if file == "" {
		return "the default configuration"
	}
	return file
}
