package consolidate

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// table writes the nodes to empty, the moves by wave, the nodes that are held, and how good the plan is.
func (a *consolidationPlan) table(out *strings.Builder, t program.Tables) {
	s := &a.Summary
	switch {
	case t.Layout.NoHeaders:
	case a.label != "":
		report.Textf(out, "%s of %s can be free of pods with %s in %s\n", report.Count(len(a.Domains), "domain"), a.label, report.Count(s.Moves, "move"), report.Count(s.Waves, "wave"))
		report.Textf(out, "domains in use: %s, then %s; no plan leaves fewer than %s: at most %.1f %% is missed\n", s.Before, s.After, s.Bound, 100*s.Gap)
		out.WriteString(t.Layout.Nodes.Note())
	default:
		report.Textf(out, "%d of %s can be emptied with %s in %s\n", s.Emptied, report.Count(s.Nodes, "node"), report.Count(s.Moves, "move"), report.Count(s.Waves, "wave"))
		report.Textf(out, "cost %s, then %s; no plan is below %s: at most %.1f %% is missed\n", s.Before, s.After, s.Bound, 100*s.Gap)
		out.WriteString(t.Layout.Nodes.Note())
	}
	if a.Why != nil {
		a.Why.table(out, t)
		return
	}
	var rows [][]string
	for _, n := range a.Added {
		rows = append(rows, []string{n.Node, n.Type, n.Price})
	}
	t.Layout.Section(out, "Add", []string{"NODE", "TYPE", "PRICE"}, rows)
	a.staying(out, t)
	a.emptied(out, t)
	rows = nil
	for k, w := range a.Waves {
		for _, m := range w.Moves {
			comes := "before the old pod is gone"
			if m.Way == "InPlace" {
				comes = "when the old pod is gone"
			}
			chosen := "pin"
			if m.Chosen {
				chosen = "scheduler"
			}
			rows = append(rows, []string{fmt.Sprint(k + 1), t.Qualified(m.Pod), t.Layout.Nodes.Of(m.From), t.Layout.Nodes.Of(m.To), comes, chosen})
		}
	}
	t.Layout.Section(out, "Moves", []string{"WAVE", "POD", "FROM", "TO", "NEW POD COMES", "NODE BY"}, rows)
	if n := len(a.Replay.Elsewhere); n > 0 && !t.Layout.NoHeaders {
		report.Textf(out, "\nWithout pins kube-scheduler takes another node for %s, and leaves %d pending.\n", report.Count(n, "pod"), len(a.Replay.Pending))
	}
	if a.Gangs != nil {
		a.Gangs.table(out, t)
	}
}

// emptied writes the domains that are free after the plan, or the nodes to remove.
func (a *consolidationPlan) emptied(out *strings.Builder, t program.Tables) {
	when := func(wave int) string {
		if wave == 0 {
			return "at once"
		}
		return fmt.Sprintf("after wave %d", wave)
	}
	var rows [][]string
	if a.label != "" {
		for _, d := range a.Domains {
			rows = append(rows, []string{d.Domain, fmt.Sprint(d.Nodes), fmt.Sprint(d.Moves), when(d.Wave)})
		}
		t.Layout.Section(out, "Free", []string{"DOMAIN", "NODES", "MOVES", "FREE"}, rows)
		return
	}
	for _, n := range a.Nodes {
		rows = append(rows, []string{t.Layout.Nodes.Of(n.Node), n.Price, fmt.Sprint(n.Moves), when(n.Wave)})
	}
	t.Layout.Section(out, "Empty", []string{"NODE", "SAVES", "MOVES", "REMOVE"}, rows)
}

// notTried says what the search left out: nodes, or else steps.
func (s *summary) notTried() string {
	if s.Untried > 0 {
		return report.NotTried(s.Untried, "node")
	}
	return report.NotTried(s.Unsearched, "step")
}

// staying writes why each node stays: what holds it, or the pod that no other node takes.
func (a *consolidationPlan) staying(out *strings.Builder, t program.Tables) {
	var rows [][]string
	list := a.Stays
	if len(list) == 0 {
		for _, k := range a.Kept {
			list = append(list, stay(k))
		}
	}
	for _, s := range list {
		rows = append(rows, []string{t.Layout.Nodes.Of(s.Node), cmp.Or(s.Pod, "-"), t.Layout.Nodes.In(s.Reason)})
	}
	t.Layout.Section(out, "Stay", []string{"NODE", "POD", "WHY"}, rows)
	if a.Unexplained > 0 {
		report.Textf(out, "%s; --all explains each, --why NODE one\n", report.Count(a.Unexplained, "more node"))
	}
}

// table writes what would happen if the node were removed.
func (r *removal) table(out *strings.Builder, t program.Tables) {
	moves, stuck := 0, 0
	for _, p := range r.Pods {
		if p.To != "" {
			moves++
		} else {
			stuck++
		}
	}
	by := ""
	if r.Pod != "" {
		by = r.Pod + ": "
	}
	out.WriteString("\n")
	out.WriteString(t.Layout.Text("", fmt.Sprintf("%s (price %s): %s%s", r.Node, r.Price, by, r.Reason)))
	for _, c := range r.Changes {
		out.WriteString(t.Layout.Text("Would have to change: ", c))
	}
	if len(r.Pods) > 0 {
		report.Textf(out, "After the plan, without it, %d of %s would find another node, and %d would not.\n", moves, report.Count(len(r.Pods), "pod"), stuck)
	}
	var rows [][]string
	for _, p := range r.Pods {
		rows = append(rows, []string{p.Pod, cmp.Or(t.Layout.Nodes.Of(p.To), "-"), t.Layout.Nodes.In(p.Why)})
	}
	t.Layout.Section(out, "Without the node", []string{"POD", "GOES TO", "WHY NOT"}, rows)
}
