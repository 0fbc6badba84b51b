package consolidate

import (
	"fmt"
	"strings"

	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// table writes the nodes to empty, the moves by wave, the nodes that are held, and how good the plan is.
func (a *consolidationPlan) table(out *strings.Builder, t program.Tables) {
	s := &a.Summary
	if !t.Layout.NoHeaders {
		report.Textf(out, "%d of %s can be emptied with %s in %s\n", s.Emptied, report.Count(s.Nodes, "node"), report.Count(s.Moves, "move"), report.Count(s.Waves, "wave"))
		report.Textf(out, "cost %s, then %s; no plan is below %s: at most %.1f %% is missed\n", s.Before, s.After, s.Bound, 100*s.Gap)
	}
	var rows [][]string
	for _, n := range a.Added {
		rows = append(rows, []string{n.Node, n.Type, n.Price})
	}
	t.Layout.Section(out, "Add", []string{"NODE", "TYPE", "PRICE"}, rows)
	rows = nil
	for _, n := range a.Nodes {
		when := "at once"
		if n.Wave > 0 {
			when = fmt.Sprintf("after wave %d", n.Wave)
		}
		rows = append(rows, []string{n.Node, n.Price, fmt.Sprint(n.Moves), when})
	}
	t.Layout.Section(out, "Empty", []string{"NODE", "SAVES", "MOVES", "REMOVE"}, rows)
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
			rows = append(rows, []string{fmt.Sprint(k + 1), t.Qualified(m.Pod), m.From, m.To, comes, chosen})
		}
	}
	t.Layout.Section(out, "Moves", []string{"WAVE", "POD", "FROM", "TO", "NEW POD COMES", "NODE BY"}, rows)
	rows = nil
	for _, k := range a.Kept {
		pod := k.Pod
		if pod == "" {
			pod = "-"
		}
		rows = append(rows, []string{k.Node, pod, k.Reason})
	}
	t.Layout.Section(out, "Held", []string{"NODE", "POD", "REASON"}, rows)
	if n := len(a.Replay.Elsewhere); n > 0 && !t.Layout.NoHeaders {
		report.Textf(out, "\nWithout pins kube-scheduler takes another node for %s, and leaves %d pending.\n", report.Count(n, "pod"), len(a.Replay.Pending))
	}
}
