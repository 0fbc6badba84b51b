package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
)

// explain schedules the pods in front of the one asked for and tells about that one in words.
func explain(ctx context.Context, out io.Writer, x *simulation) (v verdict, err error) {
	for _, r := range x.w.refused {
		if key(r.pod) == x.o.explain {
			_, err = fmt.Fprintf(out, "Pod %s is refused by the API server: %s\n", x.o.explain, r.text)
			return verdict{unplaced: true, failed: true}, err
		}
	}
	pod := x.w.pods[x.o.explain]
	if pod == nil || pod.Spec.NodeName != "" {
		return v, fmt.Errorf("-explain: Not found: %q: no pending pod of that namespace and name", x.o.explain)
	}
	var text strings.Builder
	v.unplaced = true
	x.explain = func(pod *v1.Pod, c *cluster.Snapshot) { v, err = x.tell(&text, pod, c) }
	if e := x.run(ctx); e != nil {
		return v, e
	}
	if err != nil {
		return v, err
	}
	fmt.Fprintf(out, "Pod %s, tried after %d pod(s) of higher rank.\n", x.o.explain, x.ahead(pod))
	if len(pod.Spec.SchedulingGates) > 0 {
		fmt.Fprintf(out, "It is gated: %s.\n", gatedMessage)
	}
	fmt.Fprint(out, text.String())
	return v, nil
}

// ahead counts the pods of the input that the queue tries before.
func (x *simulation) ahead(pod *v1.Pod) int {
	for k, p := range x.w.pending {
		if key(p) == key(pod) {
			return k
		}
	}
	return len(x.w.pending)
}

// tell explains the attempt that is about to be made.
func (x *simulation) tell(out io.Writer, pod *v1.Pod, c *cluster.Snapshot) (v verdict, err error) {
	plan, err := x.plan(pod, c)
	if err != nil {
		return v, err
	}
	d := plan.Decide(pod, placement.Options{})
	if d.Placed() {
		fmt.Fprintf(out, "It goes to %s: %d of %d nodes can take it.\n", d.Node, d.Feasible, d.Nodes)
	} else {
		fmt.Fprintf(out, "It has no node: %s\n", d.Failure.Text())
		if d.Failure.Err == nil {
			x.tellPreemption(out, plan, pod, d.Failure)
		}
	}
	var node *v1.Node
	if d.Placed() {
		node = c.Node(d.Slot)
	}
	fmt.Fprintf(out, "\n%s", describePod(pod, node, x.w.now))
	v = verdict{unplaced: !d.Placed(), failed: !d.Placed() && d.Failure.Err != nil}
	table, err := plan.Table(pod)
	if err != nil {
		fmt.Fprintf(out, "\nThere are no scores: %v\n", err)
	}
	for _, n := range table {
		explainNode(out, n, n.Node == d.Node)
	}
	if err == nil && d.Placed() && d.Feasible > 1 {
		why, err := plan.Choice(pod, d.Slot)
		if err != nil {
			return v, err
		}
		fmt.Fprintf(out, "\nWhy %s:\n%s\n", d.Node, strings.TrimRight(why.String(), "\n"))
	}
	return v, nil
}

// tellPreemption says who gives way, or why nobody does.
func (x *simulation) tellPreemption(out io.Writer, plan *placement.Plan, pod *v1.Pod, failure *placement.Failure) {
	r := plan.Preempt(pod, failure, placement.Options{}, placement.PreemptOptions{Budgets: x.w.disruptionBudgets(), Now: x.w.now})
	if r.Node == "" {
		fmt.Fprintf(out, "Nobody gives way: %s\n", r.Message)
		return
	}
	var victims []string
	for _, v := range r.Victims {
		victims = append(victims, key(v.Pod))
	}
	fmt.Fprintf(out, "On %s %s would give way", r.Node, strings.Join(victims, ", "))
	if r.Violations > 0 {
		fmt.Fprintf(out, ", %d of them against a disruption budget", r.Violations)
	}
	fmt.Fprintln(out, ".")
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
