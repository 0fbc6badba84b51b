package taintforecast

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/eviction/taint"
	"github.com/podberth/podberth/examples/program"
	"github.com/podberth/podberth/examples/report"
)

// answer is a timeline in the form in which it is printed.
type answer struct {
	report.Head
	Until   metav1.Duration `json:"until"`
	Entries []entry         `json:"entries"`
	Pending []pending       `json:"pending"`

	line taint.Timeline
}

// entry is a taint.Entry with the parts of the pod's name.
type entry struct {
	At        metav1.Duration  `json:"at"`
	What      string           `json:"what"`
	Node      string           `json:"node"`
	Zone      string           `json:"zone"`
	Pod       string           `json:"pod"`
	Namespace string           `json:"namespace"`
	Name      string           `json:"name"`
	Cause     string           `json:"cause"`
	Until     *metav1.Duration `json:"until,omitempty"`
}

type pending struct {
	Pod       string          `json:"pod"`
	Namespace string          `json:"namespace"`
	Name      string          `json:"name"`
	Node      string          `json:"node"`
	Until     metav1.Duration `json:"until"`
}

// answerOf returns the answer of a timeline, without the pods of other namespaces than that of -n. What happens to nodes and
// zones stays.
func answerOf(line taint.Timeline, t *program.Tables) *answer {
	a := &answer{Head: report.HeadOf("TaintForecast"), Until: line.Until, Entries: []entry{}, Pending: []pending{}}
	a.line.Until = line.Until
	for _, e := range line.Entries {
		namespace, name, _ := strings.Cut(e.Pod, "/")
		if e.Pod == "" || t.Shows(namespace) {
			a.line.Entries = append(a.line.Entries, e)
			a.Entries = append(a.Entries, entry{e.At, e.What, e.Node, e.Zone, e.Pod, namespace, name, e.Cause, e.Until})
		}
	}
	for _, p := range line.Pending {
		namespace, name, _ := strings.Cut(p.Pod, "/")
		if t.Shows(namespace) {
			a.line.Pending = append(a.line.Pending, p)
			a.Pending = append(a.Pending, pending{p.Pod, namespace, name, p.Node, p.Until})
		}
	}
	return a
}

// table writes the timeline.
func (a *answer) table(b *strings.Builder, layout report.Layout) {
	text := a.line.String()
	if layout.NoHeaders {
		_, text, _ = strings.Cut(text, "\n")
	}
	b.WriteString(text)
}
