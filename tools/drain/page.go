package drain

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/podberth/podberth/tools/page"
	"github.com/podberth/podberth/tools/program"
)

// page returns the plan as a page: the waves as a timeline, and the pods that do not leave first.
func (p *plan) page(in *input, t *program.Tables) ([]byte, error) {
	title := "Drain of " + p.Nodes[0]
	if len(p.Nodes) > 1 {
		title = fmt.Sprintf("Drain of %d nodes", len(p.Nodes))
	}
	out := page.New(title, in.objects.Nodes, in.objects.Pods)
	out.Shows = t.Shows
	var b strings.Builder
	p.table(&b, &program.Tables{Layout: page.Layout()})
	for _, text := range p.Errors {
		fmt.Fprintf(&b, "\nerror: %s\n", text)
	}
	out.Text = b.String()
	line := &page.Timeline{Title: "Waves of the drain", Steps: max(1, len(p.Waves))}
	for _, x := range p.Blocked {
		out.Tell(page.Pod{Name: x.Pod, State: "Blocked", Message: x.Cause + " " + x.Remedy})
		line.Add("", x.Pod, page.Span{To: time.Duration(line.Steps), Kind: page.Stays, Text: "blocked: " + cmp.Or(x.Remedy, x.Cause)})
	}
	for k, w := range p.Waves {
		for _, e := range w.Evictions {
			goes := "nobody takes its place"
			if e.Replacement != "" {
				goes = "its place is taken on " + e.Replacement
			}
			if e.Note != "" {
				goes += ": " + e.reason()
			}
			text := fmt.Sprintf("leaves %s in wave %d; %s", e.Node, k+1, goes)
			if len(e.Budgets) > 0 {
				text += "; budget " + strings.Join(e.Budgets, ", ")
			}
			out.Tell(page.Pod{Name: e.Pod, State: fmt.Sprintf("Leaves in wave %d", k+1), Message: text})
			line.Add("", e.Pod, page.Span{From: time.Duration(k), To: time.Duration(k + 1), Kind: page.Leaves, Text: text})
		}
	}
	for _, s := range p.Skipped {
		out.Tell(page.Pod{Name: s.Pod, State: "Skipped", Message: s.Reason})
	}
	out.Summary = p.summary()
	out.Timeline = line
	return out.Bytes()
}
