package rollout

import (
	"fmt"
	"strings"

	planner "github.com/podberth/podberth/planning/rollout"
	"github.com/podberth/podberth/tools/page"
	"github.com/podberth/podberth/tools/program"
)

// page returns the plan as a page: nodes and pods as a timeline, and the pods that block nodes first.
func (a *rolloutPlan) page(in *input, t *program.Tables) ([]byte, error) {
	out := page.New("Rollout of the nodes", in.objects.Nodes, in.objects.Pods)
	out.Shows, out.Summary = t.Shows, a.Summary.String()
	var b strings.Builder
	a.table(&b, page.Layout())
	b.WriteString(a.remedies(page.Layout(), true))
	out.Text = b.String()
	for _, d := range a.Blocked {
		for _, pod := range d.Pods {
			message := d.Proof
			for _, r := range d.Remedies {
				if r.Holds {
					message += "; what helps: " + r.Text
				}
			}
			out.Tell(page.Pod{Name: pod, State: "Blocked", Message: message})
		}
	}
	line := &page.Timeline{Title: "Steps of the rollout"}
	for _, s := range a.Steps {
		for _, n := range s.Nodes {
			line.Add(n, "", page.Span{From: s.begin, To: s.end, Kind: kindOf(s.Action), Text: fmt.Sprintf("%s from %s to %s", s.Action, s.Begin, s.End)})
		}
		for _, w := range s.Waves {
			for _, e := range w.Evictions {
				text := fmt.Sprintf("leaves %s at %s", e.Node, w.Begin)
				if e.To != "" {
					text += fmt.Sprintf(", is ready on %s at %s", e.To, e.Ready)
				}
				line.Add("", e.Pod, page.Span{From: w.begin, To: e.over, Kind: page.Leaves, Text: text})
				out.Tell(page.Pod{Name: e.Pod, State: "Moves", Message: text})
			}
			for _, p := range w.Placed {
				line.Add("", p.Pod, page.Span{From: w.begin, To: p.over, Kind: page.Comes, Text: fmt.Sprintf("gets %s at %s", p.To, w.Begin)})
			}
		}
	}
	out.Timeline = line
	return out.Bytes()
}

// kindOf returns what a step looks like.
func kindOf(a planner.Action) page.Kind {
	if a == planner.Surge {
		return page.Comes
	}
	return page.Changes
}
