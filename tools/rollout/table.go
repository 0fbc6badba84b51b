package rollout

import (
	"fmt"
	"strings"

	"github.com/podberth/podberth/tools/report"
)

// table writes the answer in a sentence, what is blocked, which pods get no new node, the timeline, and the moves.
func (a *rolloutPlan) table(out *strings.Builder, layout report.Layout) {
	if !layout.NoHeaders {
		out.WriteString(layout.Text("", a.Summary.String()) + layout.Nodes.Note())
	}
	header := []string{"NODES", "KIND", "OWNER", "PODS", "PROOF"}
	layout.Section(out, "Blocked", header, a.stuck(layout, false))
	layout.Section(out, "No new node", header, a.stuck(layout, true))
	var rows [][]string
	for _, w := range a.waits {
		rows = append(rows, []string{orDash(w.owner), report.Few(w.pods), layout.Nodes.In(w.cause)})
	}
	layout.Section(out, "Without a node before and after", []string{"OWNER", "PODS", "CAUSE"}, rows)
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

// stuck returns the rows of the deadlocks, with a row for each owner: those of pods that get no new node, or the others.
func (a *rolloutPlan) stuck(layout report.Layout, homeless bool) (rows [][]string) {
	for _, d := range a.Blocked {
		if roomless(d.Kind) != homeless {
			continue
		}
		var owners []string
		of := map[string][]string{}
		for _, pod := range d.Pods {
			owner := a.owners[pod]
			if of[owner] == nil {
				owners = append(owners, owner)
			}
			of[owner] = append(of[owner], pod)
		}
		for _, owner := range owners {
			rows = append(rows, []string{report.Few(layout.Nodes.All(d.Nodes)), string(d.Kind), orDash(owner), report.Few(of[owner]), layout.Nodes.In(d.Proof)})
		}
	}
	return rows
}

// fewRemedies is how many remedies are printed without -all.
const fewRemedies = 12

// remedies writes what was tried against the deadlocks: after the plan.
func (a *rolloutPlan) remedies(layout report.Layout, all bool) string {
	var out strings.Builder
	var rows [][]string
	for _, d := range a.Blocked {
		for _, r := range d.Remedies {
			does := "does not help"
			if r.Holds {
				does = "the pods leave"
			}
			rows = append(rows, []string{report.Few(d.Pods), layout.Nodes.In(r.Text), does})
		}
	}
	more := 0
	if !all && len(rows) > fewRemedies {
		more = len(rows) - fewRemedies
		rows = rows[:fewRemedies]
	}
	layout.Section(&out, "Remedies", []string{"PODS", "CHANGE", "THEN"}, rows)
	if more > 0 {
		report.Textf(&out, "%s; --all prints them\n", report.Count(more, "more change"))
	}
	if out.Len() > 0 {
		return "\n" + out.String()
	}
	return ""
}

// String is the answer in one sentence.
func (s summary) String() string {
	text := fmt.Sprintf("%d of %d %s, %s new after %s", s.Leaving, s.Pods, verb(s.Pods, "pod leaves", "pods leave"), report.Count(s.Replaced, "node"), s.Total)
	if s.Hanging > 0 {
		text += fmt.Sprintf("; %d %s for ever: %s", s.Hanging, verb(s.Hanging, "hangs", "hang"), s.hangs)
	}
	if s.Homeless > 0 {
		text += fmt.Sprintf("; %d %s no new node: %s", s.Homeless, verb(s.Homeless, "gets", "get"), s.lacks)
	}
	if rest := s.Pods - s.Leaving - s.Hanging - s.Homeless - s.late; rest > 0 {
		text += fmt.Sprintf("; %d %s", rest, verb(rest, "other stays", "others stay"))
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

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
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
