package rollout

import (
	"fmt"
	"strings"

	"github.com/podberth/podberth/tools/report"
)

// table writes the timeline, what is blocked with the remedies, and the pods that move more than once.
func (a *rolloutPlan) table(out *strings.Builder, layout report.Layout) {
	if !layout.NoHeaders {
		report.Textf(out, "%s\n", a.Summary)
	}
	var rows [][]string
	for _, s := range a.Steps {
		rows = append(rows, s.row())
	}
	layout.Section(out, "", []string{"FROM", "EMPTY", "UNTIL", "ACTION", "NODES", "WAVES", "PODS", "LEAST ROOM"}, rows)
	rows = nil
	for _, s := range a.Steps {
		for k, w := range s.Waves {
			for _, p := range w.Placed {
				rows = append(rows, []string{w.Begin, fmt.Sprint(k + 1), p.Pod, "-", p.To, p.Ready})
			}
			for _, e := range w.Evictions {
				rows = append(rows, []string{w.Begin, fmt.Sprint(k + 1), e.Pod, e.Node, orDash(e.To), orDash(e.Ready)})
			}
		}
	}
	layout.Section(out, "Moves", []string{"AT", "WAVE", "POD", "FROM", "TO", "READY"}, rows)
	rows = nil
	for _, d := range a.Blocked {
		rows = append(rows, []string{few(d.Nodes), string(d.Kind), few(d.Pods), d.Proof})
	}
	layout.Section(out, "Blocked", []string{"NODES", "KIND", "PODS", "PROOF"}, rows)
	rows = nil
	for _, d := range a.Blocked {
		for _, r := range d.Remedies {
			does := "does not help"
			if r.Holds {
				does = "the pods leave"
			}
			rows = append(rows, []string{few(d.Pods), r.Text, does})
		}
	}
	layout.Section(out, "Remedies", []string{"PODS", "CHANGE", "THEN"}, rows)
	if a.Untried > 0 {
		report.Textf(out, "\n%s not tried; --time and --steps say how long to search\n", report.Count(a.Untried, "change"))
	}
	rows = nil
	for _, j := range a.Again {
		rows = append(rows, []string{j.Pod, strings.Join(j.Nodes, " ")})
	}
	layout.Section(out, "Moved more than once", []string{"POD", "NODES"}, rows)
}

// String is the summary in one line.
func (s summary) String() string {
	return fmt.Sprintf("%s new after %s, %s, %s moved more than once, %s blocked", report.Count(s.Replaced, "node"), s.Total,
		report.Count(s.Evictions, "eviction"), report.Count(s.Again, "pod"), report.Count(s.Blocked, "node"))
}

// row is a step in the timeline. The least room is that of the budget that comes closest to its minimum.
func (s *step) row() []string {
	pods := 0
	for _, w := range s.Waves {
		pods += len(w.Evictions)
	}
	room := "-"
	least := int32(0)
	for k, b := range s.Budgets {
		if left := b.Lowest - b.Minimum; k == 0 || left < least {
			least = left
			room = fmt.Sprintf("%s %d of %d", b.Budget, b.Lowest, b.Minimum)
		}
	}
	return []string{s.Begin, s.Empty, s.End, string(s.Action), few(s.Nodes), fmt.Sprint(len(s.Waves)), fmt.Sprint(pods), room}
}

// few returns the first three names and how many more there are.
func few(names []string) string {
	const most = 3
	if len(names) <= most {
		return orDash(strings.Join(names, ","))
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ","), len(names)-most)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
