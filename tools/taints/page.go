package taints

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/podberth/podberth/eviction/taint"
	"github.com/podberth/podberth/tools/page"
	"github.com/podberth/podberth/tools/program"
)

// page returns the forecast as a page: what happens to nodes and pods as a timeline, and the pods that are evicted first.
func (a *answer) page(in taint.Input, t *program.Tables) *page.Page {
	out := page.New("Forecast of taints", in.Nodes, in.Pods)
	out.Shows = t.Shows
	var b strings.Builder
	a.table(&b, &program.Tables{Layout: page.Layout(), All: true})
	out.Text = b.String()
	line := &page.Timeline{Title: "What happens when"}
	waits := map[string]entry{} // the timer of a pod that runs
	end := func(pod string, at time.Duration, until string) {
		if e, ok := waits[pod]; ok {
			line.Add("", pod, page.Span{From: e.At.Duration, To: at, Kind: page.Waits, Text: fmt.Sprintf("waits from %v %s", e.At.Duration, until)})
			delete(waits, pod)
		}
	}
	for _, e := range a.Entries {
		at := e.At.Duration
		text := fmt.Sprintf("%v: %s", at, e.What)
		if e.Cause != "" {
			text += ", " + e.Cause
		}
		switch {
		case e.Pod == "":
			line.Add(cmp.Or(e.Node, "zone "+e.Zone), "", page.Span{From: at, To: at, Kind: page.Changes, Text: text})
		case e.What == taint.EntryStarted || e.What == taint.EntryMoved:
			end(e.Pod, at, fmt.Sprintf("until %v", at))
			waits[e.Pod] = e
		case e.What == taint.EntryEvicted:
			end(e.Pod, at, fmt.Sprintf("until %v", at))
			line.Add("", e.Pod, page.Span{From: at, To: at, Kind: page.Leaves, Text: text})
			out.Tell(page.Pod{Name: e.Pod, State: "Evicted", Message: text})
		default:
			end(e.Pod, at, fmt.Sprintf("until %v", at))
			line.Add("", e.Pod, page.Span{From: at, To: at, Kind: page.Stays, Text: text})
			out.Tell(page.Pod{Name: e.Pod, State: "Stays", Message: text})
		}
	}
	for _, p := range a.Pending {
		end(p.Pod, a.Until.Duration, fmt.Sprintf("to the end; its time ends at %v", p.Until.Duration))
		out.Tell(page.Pod{Name: p.Pod, State: "Waits", Message: fmt.Sprintf("is evicted at %v unless its taints go", p.Until.Duration)})
	}
	out.Summary = a.Summary.text(a.Until.Duration)
	out.Timeline = line
	return out
}
