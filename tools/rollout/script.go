package rollout

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	planner "github.com/podberth/podberth/planning/rollout"
	"github.com/podberth/podberth/tools/shell"
)

// checkedScript returns the script of a plan, and an error for a node whose name the API server refuses.
func checkedScript(p *planner.Plan, o options) (string, error) {
	for _, s := range p.Steps {
		for _, n := range s.Nodes {
			if err := checkName(n); err != nil {
				return "", err
			}
		}
	}
	for _, n := range blockedNodes(p) {
		if err := checkName(n); err != nil {
			return "", err
		}
	}
	return script(p, o), nil
}

func checkName(node string) error {
	if bad := validation.IsDNS1123Subdomain(node); len(bad) > 0 {
		return fmt.Errorf("%s %q: %w", "Node", node, field.Invalid(field.NewPath("metadata", "name"), node, bad[0]))
	}
	return nil
}

// script returns the kubectl commands of a plan in their order. Comments stand where somebody has to add, replace or remove
// nodes. kubectl drain evicts all pods of a node and tries refused pods again, so that its waves may differ from the plan's.
func script(p *planner.Plan, o options) string {
	b := strings.Builder{}
	line := func(text string) { b.WriteString(text + "\n") }
	comment := func(format string, args ...any) { line(shell.Comment(fmt.Sprintf(format, args...))) }
	line("#!/bin/sh")
	comment("%d nodes in %d steps, %d evictions, %v", p.Replaced, len(p.Steps), p.Evictions, p.Total)
	line("set -e")
	var all []string
	for _, s := range p.Steps {
		if s.Action == planner.Replace {
			all = append(all, s.Nodes...)
		}
	}
	left := blockedNodes(p)
	for _, nodes := range [][]string{all, left} {
		if len(nodes) > 0 {
			line("kubectl taint nodes --overwrite -- " + shell.Words(nodes...) + " " + planner.OldTaint + "=:PreferNoSchedule")
		}
	}
	for _, d := range p.Blocked {
		comment("left out: %s: %s: %s", strings.Join(d.Nodes, " "), d.Kind, d.Proof)
	}
	untaint := func(nodes []string) {
		line("kubectl taint nodes -- " + shell.Words(nodes...) + " " + planner.OldTaint + ":PreferNoSchedule-")
	}
	for i, s := range p.Steps {
		names, words := strings.Join(s.Nodes, " "), shell.Words(s.Nodes...)
		line("")
		comment("step %d, %v to %v", i+1, s.Begin, s.End)
		switch s.Action {
		case planner.Surge:
			comment("add nodes: %s", names)
		case planner.Settle:
			comment("wait for pods that get a node")
		default:
			line("kubectl cordon -- " + words)
			line("kubectl drain" + drainFlags(o) + " -- " + words)
			if s.Action == planner.Retire {
				comment("remove nodes: %s", names)
				line("kubectl delete node -- " + words)
				continue
			}
			comment("replace nodes: %s", names)
			untaint(s.Nodes)
			line("kubectl uncordon -- " + words)
		}
	}
	if len(left) > 0 {
		line("")
		comment("the nodes that are left out")
		untaint(left)
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
