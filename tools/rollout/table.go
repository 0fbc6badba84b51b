package rollout

import (
	"fmt"
	"strings"

	"github.com/podberth/podberth/tools/report"
)

// table writes the answer in a sentence, what is blocked with the remedies, the timeline, and the pods that move more than once.
func (a *rolloutPlan) table(out *strings.Builder, layout report.Layout) {
	if !layout.NoHeaders {
		out.WriteString(layout.Text("", a.Summary.String()) + layout.Nodes.Note())
	}
	var rows [][]string
	for _, d := range a.Blocked {
		rows = append(rows, []string{report.Few(layout.Nodes.All(d.Nodes)), string(d.Kind), report.Few(d.Pods), d.Proof})
	}
	layout.Section(out, "Blocked", []string{"NODES", "KIND", "PODS", "PROOF"}, rows)
	rows = nil
	for _, d := range a.Blocked {
		for _, r := range d.Remedies {
			does := "does not help"
			if r.Holds {
				does = "the pods leave"
			}
			rows = append(rows, []string{report.Few(d.Pods), r.Text, does})
		}
	}
	layout.Section(out, "Remedies", []string{"PODS", "CHANGE", "THEN"}, rows)
	rows = nil
	for _, s := range a.Steps {
		rows = append(rows, s.row(layout))
	}
	layout.Section(out, "", []string{"FROM", "EMPTY", "UNTIL", "ACTION", "NODES", "WAVES", "PODS", "LEAST ROOM"}, rows)
	rows = nil
	for _, j := range a.Again {
		rows = append(rows, []string{j.Pod, strings.Join(layout.Nodes.All(j.Nodes), " ")})
	}
	layout.Section(out, "Moved more than once", []string{"POD", "NODES"}, rows)
	rows = nil
	for _, s := range a.Steps {
		for k, w := range s.Waves {
			for _, p := range w.Placed {
				rows = append(rows, []string{w.Begin, fmt.Sprint(k + 1), p.Pod, "-", layout.Nodes.Of(p.To), p.Ready})
			}
			for _, e := range w.Evictions {
				rows = append(rows, []string{w.Begin, fmt.Sprint(k + 1), e.Pod, layout.Nodes.Of(e.Node), orDash(layout.Nodes.Of(e.To)), orDash(e.Ready)})
			}
		}
	}
	layout.Section(out, "Moves", []string{"AT", "WAVE", "POD", "FROM", "TO", "READY"}, rows)
}

// String is the answer in one sentence.
func (s summary) String() string {
	leave := "pods leave"
	if s.Pods == 1 {
		leave = "pod leaves"
	}
	text := fmt.Sprintf("%d of %d %s, %s new after %s", s.Leaving, s.Pods, leave, report.Count(s.Replaced, "node"), s.Total)
	if s.Hanging > 0 {
		hang := "hang"
		if s.Hanging == 1 {
			hang = "hangs"
		}
		text += fmt.Sprintf("; %d %s for ever: %s", s.Hanging, hang, s.hangs)
		if s.more > 0 {
			text += ", and " + report.Count(s.more, "other cause")
		}
	}
	if s.late > 0 {
		text += fmt.Sprintf("; %d left by the time limit", s.late)
	}
	if s.Blocked > 0 {
		text += fmt.Sprintf("; %s blocked", report.Count(s.Blocked, "node"))
	}
	if s.Again > 0 {
		text += fmt.Sprintf("; %s moved more than once", report.Count(s.Again, "pod"))
	}
	return text
}

// row is a step in the timeline. The least room is that of the budget that comes closest to its minimum.
func (s *step) row(layout report.Layout) []string {
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
	return []string{s.Begin, s.Empty, s.End, string(s.Action), report.Few(layout.Nodes.All(s.Nodes)), fmt.Sprint(len(s.Waves)), fmt.Sprint(pods), room}
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
