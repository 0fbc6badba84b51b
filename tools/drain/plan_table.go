package drain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/podberth/podberth/tools/report"
)

func (p *plan) table(out *strings.Builder, layout report.Layout) {
	columns := func(header []string, rows [][]string) {
		table, _ := layout.Columns(header, rows)
		out.WriteString(table)
	}
	leaving := 0
	for _, w := range p.Waves {
		leaving += len(w.Evictions)
	}
	if !layout.NoHeaders {
		report.Textf(out, "%s in %s, %d blocked, %d skipped\n", leave(leaving), report.Count(len(p.Waves), "wave"), len(p.Blocked), len(p.Skipped))
	}
	title := func(text string) {
		if out.Len() > 0 {
			out.WriteString("\n")
		}
		out.WriteString(text + "\n")
	}
	for i, w := range p.Waves {
		title(fmt.Sprintf("Wave %d", i+1))
		var rows [][]string
		for _, e := range w.Evictions {
			goes := cmp.Or(e.Replacement, "-")
			if e.Note != "" {
				goes += " (" + e.Note + ")"
			}
			budgets := orDash(strings.Join(e.Budgets, ", "))
			if e.Bypass != "" {
				budgets += " (not asked: " + e.Bypass + ")"
			}
			rows = append(rows, []string{e.Node, e.Pod, budgets, goes})
		}
		columns([]string{"NODE", "POD", "BUDGET", "REPLACEMENT ON"}, rows)
	}
	if len(p.Blocked) > 0 {
		title("Blocked")
	}
	for _, group := range grouped(p.Blocked) {
		b := group[0]
		var pods []string
		for _, g := range group {
			pods = append(pods, g.Pod)
		}
		report.Textf(out, "%s on %s%s\n  cause:  %s\n", strings.Join(pods, ", "), b.Node, inBudget(b.Budget), b.Cause)
		if b.Proof != "" {
			report.Textf(out, "  proof:  %s\n", b.Proof)
		}
		waiting := "waiting does not help"
		if b.WaitingHelps {
			waiting = "waiting can help"
		}
		report.Textf(out, "  remedy: %s (%s)\n", b.Remedy, waiting)
	}
	if len(p.Skipped) > 0 {
		title("Skipped")
		var rows [][]string
		for _, s := range p.Skipped {
			rows = append(rows, []string{s.Node, s.Pod, s.Reason})
		}
		columns([]string{"NODE", "POD", "REASON"}, rows)
	}
}

// leave returns "1 pod leaves", "2 pods leave".
func leave(n int) string {
	if n == 1 {
		return "1 pod leaves"
	}
	return report.Count(n, "pod") + " leave"
}

// grouped puts pods of a node together that differ in nothing else, in the order of the first of each group.
func grouped(list []blocked) (groups [][]blocked) {
	same := func(a, b blocked) bool {
		return a.Node == b.Node && a.Budget == b.Budget && a.Cause == b.Cause && a.Proof == b.Proof && a.WaitingHelps == b.WaitingHelps && a.Remedy == b.Remedy
	}
	for _, b := range list {
		at := slices.IndexFunc(groups, func(g []blocked) bool { return same(g[0], b) })
		if at < 0 {
			groups = append(groups, []blocked{b})
			continue
		}
		groups[at] = append(groups[at], b)
	}
	return groups
}

func inBudget(budget string) string {
	if budget == "" {
		return ""
	}
	return ", budget " + budget
}

func (a *answered) table(out *strings.Builder) {
	line := func(key, value string) {
		if value != "" {
			report.Textf(out, "%-9s %s\n", key+":", value)
		}
	}
	line("Pod", a.Pod)
	line("Budget", orDash(strings.Join(a.Budgets, ", ")))
	if a.Allowed {
		line("Answer", fmt.Sprintf("%d, it is evicted", a.Code))
	} else {
		line("Answer", strings.TrimSpace(fmt.Sprintf("%d %s", a.Code, a.Reason)))
	}
	line("Message", a.Message)
	line("Cause", a.Cause)
	if a.Bypass != "" {
		line("Not asked", "the pod is "+a.Bypass)
	}
	if a.RetryAfterSeconds > 0 {
		line("Retry", fmt.Sprintf("after %ds", a.RetryAfterSeconds))
	}
	line("Outlook", a.Outlook)
	line("Drain", a.Drain)
	line("Proof", a.Proof)
	for _, r := range a.Remedies {
		line("Remedy", r)
	}
	for _, s := range a.Steps {
		line("Step", s)
	}
}

func orDash(s string) string { return cmp.Or(s, "-") }
