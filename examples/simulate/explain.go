package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/podberth/podberth/placement"
)

// explain schedules the pods in front of the one asked for and tells about that one in words.
func explain(out io.Writer, w *world, o options) (failed bool, err error) {
	at := -1
	for k, p := range w.pending {
		if p.Namespace+"/"+p.Name == o.explain {
			at = k
		}
	}
	if at < 0 {
		return false, fmt.Errorf("-explain: Not found: %q: no pending pod of that namespace and name", o.explain)
	}
	pod := w.pending[at]
	w.pending = w.pending[:at]
	if _, err := w.schedule(options{seed: o.seed}); err != nil {
		return false, err
	}
	d := w.plan.Decide(pod, placement.Options{})
	fmt.Fprintf(out, "Pod %s, tried after %d pod(s) of higher rank.\n", o.explain, at)
	switch {
	case len(pod.Spec.SchedulingGates) > 0:
		fmt.Fprintf(out, "It is gated: %s.\n", gatedMessage)
		return true, nil
	case d.Placed():
		fmt.Fprintf(out, "It goes to %s: %d of %d nodes can take it.\n", d.Node, d.Feasible, d.Nodes)
	default:
		fmt.Fprintf(out, "It has no node: %s\n", d.Failure.Text())
	}
	table, err := w.plan.Table(pod)
	if err != nil {
		return false, err
	}
	for _, n := range table {
		explainNode(out, n, n.Node == d.Node)
	}
	if d.Placed() && d.Feasible > 1 {
		why, err := w.plan.Choice(pod, d.Slot)
		if err != nil {
			return false, err
		}
		fmt.Fprintf(out, "\nWhy %s:\n%s\n", d.Node, strings.TrimRight(why.String(), "\n"))
	}
	return !d.Placed(), nil
}

func explainNode(out io.Writer, n placement.NodeReport, chosen bool) {
	if n.Feasible() {
		mark := ""
		if chosen {
			mark = " (chosen)"
		}
		fmt.Fprintf(out, "\n%s: can take it, total %d%s\n", n.Node, n.Total, mark)
		for _, s := range n.Scores {
			fmt.Fprintf(out, "  %-32s %4d x %d = %d (raw %d)\n", s.Plugin, s.Normalized, s.Weight, s.Weighted, s.Raw)
		}
		return
	}
	fmt.Fprintf(out, "\n%s: rejected\n", n.Node)
	for _, r := range n.Rejections {
		fmt.Fprintf(out, "  %s: %s\n", r.Plugin, strings.Join(r.Reasons, ", "))
		for _, line := range r.Numbers {
			fmt.Fprintf(out, "    %s\n", line)
		}
	}
}
