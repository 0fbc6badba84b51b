package drain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// table writes the answer in a sentence, then what keeps pods, which pods get no new node, and the waves.
func (p *plan) table(out *strings.Builder, t *program.Tables) {
	layout := t.Layout
	if !layout.NoHeaders {
		out.WriteString(layout.Text("", p.summary()))
		out.WriteString(layout.Nodes.Note())
	}
	if p.Untried > 0 {
		report.Textf(out, "%s left out by -steps or -time: where they go is not known, and they count as placed\n", report.Count(p.Untried, "pod"))
	}
	for k, group := range grouped(p.Blocked) {
		if k == 0 {
			if out.Len() > 0 {
				out.WriteString("\n")
			}
			out.WriteString("Blocked\n")
		}
		p.keeps(out, group, t)
	}
	var rows [][]string
	for _, group := range homes(p.homeless()) {
		pods, _ := podsOf(group, func(e eviction) podRef { return e.podRef })
		rows = append(rows, []string{fmt.Sprint(len(group)), orDash(group[0].Owner), joined(pods, t.All), group[0].reason()})
	}
	layout.Section(out, "No new node", []string{"PODS", "OWNER", "NAMES", "CAUSE"}, rows)
	for i, w := range p.Waves {
		rows = nil
		for _, e := range w.Evictions {
			goes := layout.Nodes.Of(cmp.Or(e.Replacement, "-"))
			switch {
			case e.Homeless:
				goes = "none"
			case e.Note != "":
				goes += " (" + e.reason() + ")"
			}
			budgets := orDash(strings.Join(e.Budgets, ", "))
			if e.Bypass != "" {
				budgets += " (not asked: " + e.Bypass + ")"
			}
			rows = append(rows, []string{layout.Nodes.Of(e.Node), e.Pod, budgets, goes})
		}
		layout.Section(out, fmt.Sprintf("Wave %d", i+1), []string{"NODE", "POD", "BUDGET", "REPLACEMENT ON"}, rows)
	}
	rows = nil
	for _, group := range together(p.elsewhere(), func(e eviction) string { return e.Unit }) {
		pods, nodes := podsOf(group, func(e eviction) podRef { return e.podRef })
		rows = append(rows, []string{fmt.Sprint(len(group)), joined(layout.Nodes.All(nodes), t.All), joined(pods, t.All), group[0].Unit})
	}
	layout.Section(out, "Leave with their groups (kubectl drain leaves them: evict them too)", []string{"PODS", "ON", "NAMES", "GROUP"}, rows)
	rows = nil
	for _, group := range skips(p.Skipped) {
		pods, nodes := podsOf(group, func(s skipped) podRef { return s.podRef })
		rows = append(rows, []string{fmt.Sprint(len(group)), joined(layout.Nodes.All(nodes), t.All), joined(pods, t.All), group[0].Reason})
	}
	layout.Section(out, "Skipped", []string{"PODS", "ON", "NAMES", "REASON"}, rows)
}

// keeps writes why a group of pods stays, and what helps.
func (p *plan) keeps(out *strings.Builder, group []blocked, t *program.Tables) {
	b := group[0]
	pods, nodes := podsOf(group, func(b blocked) podRef { return b.podRef })
	of := ""
	if b.Owner != "" && len(group) > 1 && !b.Behind {
		of = " of " + b.Owner
	}
	waiting := "waiting does not help"
	if b.WaitingHelps {
		waiting = "waiting can help"
	}
	write := func(head, text string) { out.WriteString(t.Layout.Text(head, text)) }
	write("", fmt.Sprintf("%s%s on %s%s", joined(pods, t.All), of, joined(t.Layout.Nodes.All(nodes), t.All), inBudget(b.Budget)))
	write("  cause:  ", b.Cause)
	if b.Proof != "" {
		write("  proof:  ", b.Proof)
	}
	if b.Remedy != "" {
		write("  remedy: ", fmt.Sprintf("%s (%s)", b.Remedy, waiting))
	}
	if text := p.then(group, t); text != "" {
		write("  then:   ", text)
	}
}

// then says where the new pods of a group go once its pods may leave; "" when there are none.
func (p *plan) then(group []blocked, t *program.Tables) string {
	var to, homeless []string
	cause := ""
	for _, b := range group {
		switch {
		case b.Replacement != "":
			to = append(to, b.Replacement)
		case b.Note != "":
			homeless, cause = append(homeless, b.Pod), cmp.Or(cause, b.reason())
		}
	}
	var parts []string
	if len(to) > 0 {
		does := "go"
		if len(to) == 1 {
			does = "goes"
		}
		slices.Sort(to)
		parts = append(parts, fmt.Sprintf("%s %s to %s", report.Count(len(to), "new pod"), does, joined(t.Layout.Nodes.All(slices.Compact(to)), t.All)))
	}
	if len(homeless) > 0 {
		parts = append(parts, fmt.Sprintf("%s without a node: %s", report.Count(len(homeless), "new pod"), cause))
	}
	return strings.Join(parts, "; ")
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
	if a.Group != "" {
		line("Group", a.Group+" leaves whole; the Eviction API knows no groups, and is asked about this pod alone")
	}
	if a.Allowed {
		line("Answer", fmt.Sprintf("%d, it is evicted", a.Code))
	} else {
		line("Answer", strings.TrimSpace(fmt.Sprintf("%d %s", a.Code, a.Reason)))
	}
	line("Message", a.Message)
	line("Cause", a.Cause)
	line("Sync", a.Sync)
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
