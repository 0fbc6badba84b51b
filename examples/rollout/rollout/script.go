package rollout

import (
	"fmt"
	"slices"
	"strings"

	planner "github.com/podberth/podberth/planning/rollout"
)

// script returns the kubectl commands of a plan in their order. Comments stand where somebody has to add, replace or remove
// nodes. kubectl drain evicts all pods of a node and tries refused pods again, so that its waves may differ from the plan's.
func script(p *planner.Plan, o options) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("#!/bin/sh")
	line("# %d nodes in %d steps, %d evictions, %v", p.Replaced, len(p.Steps), p.Evictions, p.Total)
	line("set -e")
	var all []string
	for _, s := range p.Steps {
		if s.Action == planner.Replace {
			all = append(all, s.Nodes...)
		}
	}
	if len(all) > 0 {
		line("kubectl taint nodes %s %s=:PreferNoSchedule --overwrite", strings.Join(all, " "), planner.OldTaint)
	}
	left := blockedNodes(p)
	if len(left) > 0 {
		line("kubectl taint nodes %s %s=:PreferNoSchedule --overwrite", strings.Join(left, " "), planner.OldTaint)
	}
	for _, d := range p.Blocked {
		line("# left out: %s: %s: %s", strings.Join(d.Nodes, " "), d.Kind, d.Proof)
	}
	for i, s := range p.Steps {
		nodes := strings.Join(s.Nodes, " ")
		line("\n# step %d, %v to %v", i+1, s.Begin, s.End)
		switch s.Action {
		case planner.Surge:
			line("# add nodes: %s", nodes)
		case planner.Settle:
			line("# wait for pods that get a node")
		default:
			line("kubectl cordon %s", nodes)
			line("kubectl drain %s%s", nodes, drainFlags(o))
			if s.Action == planner.Retire {
				line("# remove nodes: %s", nodes)
				line("kubectl delete node %s", nodes)
				continue
			}
			line("# replace nodes: %s", nodes)
			line("kubectl taint nodes %s %s:PreferNoSchedule-", nodes, planner.OldTaint)
			line("kubectl uncordon %s", nodes)
		}
	}
	if len(left) > 0 {
		line("\n# the nodes that are left out")
		line("kubectl taint nodes %s %s:PreferNoSchedule-", strings.Join(left, " "), planner.OldTaint)
	}
	return b.String()
}

// blockedNodes returns the nodes that the plan leaves as they are, surge nodes left out.
func blockedNodes(p *planner.Plan) (out []string) {
	surge := map[string]bool{}
	for _, s := range p.Steps {
		for _, n := range s.Nodes {
			surge[n] = surge[n] || s.Action == planner.Surge
		}
	}
	for _, d := range p.Blocked {
		for _, n := range d.Nodes {
			if !surge[n] && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

// drainFlags returns the flags of kubectl drain that the plan was made with, each with a blank in front.
func drainFlags(o options) string {
	var b strings.Builder
	for _, f := range []struct {
		name string
		set  bool
	}{{"force", o.plan.Drain.Force}, {"ignore-daemonsets", o.plan.Drain.IgnoreDaemonSets}, {"delete-emptydir-data", o.plan.Drain.DeleteEmptyDirData}} {
		if f.set {
			b.WriteString(" --" + f.name)
		}
	}
	if o.grace >= 0 {
		fmt.Fprintf(&b, " --grace-period=%d", o.grace)
	}
	if o.plan.Timeout > 0 {
		fmt.Fprintf(&b, " --timeout=%v", o.plan.Timeout)
	}
	return b.String()
}
