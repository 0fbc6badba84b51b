package taints

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/eviction/taint"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// answer is a timeline in the form in which it is printed.
type answer struct {
	report.Head
	Until   metav1.Duration `json:"until"`   // how far the forecast looks, a duration
	Summary summary         `json:"summary"` // the forecast in numbers
	Entries []entry         `json:"entries"` // what happens, in order of time
	Pending []pending       `json:"pending"` // the pods whose timers still run at the end
}

// entry is a taint.Entry with the parts of the pod's name.
type entry struct {
	At metav1.Duration `json:"at"` // a duration since the beginning
	// "event", "unknown", notReady, "tainted", "untainted", "zone", "started", "moved", "cancelled" or "evicted".
	What      string `json:"what"`
	Node      string `json:"node"` // name of the node; "" for a zone
	Zone      string `json:"zone"` // the zone that has another state or rate; "" for nodes without zones, too
	Pod       string `json:"pod"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Cause     string `json:"cause"` // why, in words
	// The end of a pod's timer, a duration since the beginning; only with "started", "moved" and "cancelled".
	Until *metav1.Duration `json:"until,omitempty"`
}

type pending struct {
	Pod       string          `json:"pod"`
	Namespace string          `json:"namespace"`
	Name      string          `json:"name"`
	Node      string          `json:"node"`
	Until     metav1.Duration `json:"until"` // the end of the timer, a duration since the beginning
}

// answerOf returns the answer of a timeline, without the pods of other namespaces than that of -n. What happens to nodes and
// zones stays.
func answerOf(line taint.Timeline, pods []*v1.Pod, t *program.Tables) *answer {
	a := &answer{Head: report.HeadOf("TaintForecast"), Until: line.Until, Entries: []entry{}, Pending: []pending{}}
	for _, e := range line.Entries {
		namespace, name, _ := strings.Cut(e.Pod, "/")
		if e.Pod == "" || t.Shows(namespace) {
			a.Entries = append(a.Entries, entry{e.At, e.What, e.Node, e.Zone, e.Pod, namespace, name, e.Cause, e.Until})
		}
	}
	for _, p := range line.Pending {
		namespace, name, _ := strings.Cut(p.Pod, "/")
		if t.Shows(namespace) {
			a.Pending = append(a.Pending, pending{p.Pod, namespace, name, p.Node, p.Until})
		}
	}
	a.sum(pods, t)
	return a
}

// table writes the answer in a sentence and the timeline. A timeline of more lines than a table may have is grouped by time, without
// -all.
func (a *answer) table(b *strings.Builder, t *program.Tables) {
	layout := t.Layout
	if !layout.NoHeaders {
		b.WriteString(layout.Text("", a.Summary.text(a.Until.Duration)))
		if text := a.Summary.sets(layout.Nodes.All(a.silent())); text != "" {
			b.WriteString(layout.Text("", text))
		}
		b.WriteString(layout.Nodes.Note())
	}
	if !t.All && len(a.Entries)+len(a.Pending) > program.MostLines {
		layout.Section(b, "", []string{"AT", "WHAT", "NODES", "PODS", "CAUSE"}, a.changes())
		report.Textf(b, "--all prints what happens to each node and pod: %s\n", report.Count(len(a.Entries)+len(a.Pending), "line"))
		return
	}
	var rows [][]string
	for _, e := range a.Entries {
		where, cause := layout.Nodes.Of(e.Node), e.Cause
		if e.What == taint.EntryZone {
			where = "zone " + strconv.Quote(e.Zone)
		}
		if e.Until != nil {
			cause = strings.TrimPrefix(fmt.Sprintf("%s, until %v", cause, e.Until.Duration), ", ")
		}
		rows = append(rows, []string{e.At.Duration.String(), where, cmp.Or(e.Pod, "-"), e.What, cause})
	}
	for _, p := range a.Pending {
		rows = append(rows, []string{a.Until.Duration.String(), layout.Nodes.Of(p.Node), p.Pod, "pending", fmt.Sprintf("until %v", p.Until.Duration)})
	}
	layout.Section(b, "", []string{"AT", "NODE", "POD", "WHAT", "CAUSE"}, rows)
}
