package taint

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The values of [Entry.What].
const (
	EntryEvent     = "event"     // an event of the input happened
	EntryUnknown   = "unknown"   // the conditions of a silent node became Unknown
	EntryNotReady  = "notReady"  // the node is not ready any more, and its pods get Ready=False
	EntryTainted   = "tainted"   // a node got a taint
	EntryUntainted = "untainted" // a node lost a taint
	EntryZone      = "zone"      // a zone has another state or rate
	EntryStarted   = "started"   // a pod's timer started
	EntryMoved     = "moved"     // a pod's timer has another end
	EntryCancelled = "cancelled" // a pod's timer was stopped, and the pod stays
	EntryEvicted   = "evicted"   // a pod is deleted
)

// Entry is a line of a [Timeline].
type Entry struct {
	At   metav1.Duration `json:"at"` // since the start
	What string          `json:"what"`
	Node string          `json:"node,omitempty"`
	Zone string          `json:"zone,omitempty"`
	Pod  string          `json:"pod,omitempty"` // namespace/name
	// Cause says why, in words: the deciding taint and the time it leaves, the event, or the state of a zone and its rate.
	Cause string `json:"cause,omitempty"`
	// Until is the end of a pod's timer (started, moved) or the end that it would have had (cancelled), since the start.
	Until *metav1.Duration `json:"until,omitempty"`
}

// Pending is a pod whose timer still runs at the end of a [Timeline].
type Pending struct {
	Pod   string          `json:"pod"`
	Node  string          `json:"node"`
	Until metav1.Duration `json:"until"` // since the start
}

// Timeline is the result of a forecast: what happens in order of time, and which timers run at the end.
type Timeline struct {
	Until   metav1.Duration `json:"until"`
	Entries []Entry         `json:"entries"`
	Pending []Pending       `json:"pending,omitempty"`
}

// Evictions returns the entries of pods that are deleted.
func (t Timeline) Evictions() []Entry {
	var list []Entry
	for _, e := range t.Entries {
		if e.What == EntryEvicted {
			list = append(list, e)
		}
	}
	return list
}

// String returns the timeline as a table with the columns AT, NODE, POD, WHAT and CAUSE, and a line for each pod whose
// timer still runs.
func (t Timeline) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(columns ...any) { fmt.Fprintf(w, "%v\t%v\t%v\t%v\t%v\n", columns...) } // a strings.Builder never fails
	row("AT", "NODE", "POD", "WHAT", "CAUSE")
	for _, e := range t.Entries {
		where := e.Node
		if e.What == EntryZone {
			where = "zone " + strconv.Quote(e.Zone)
		}
		cause := e.Cause
		if e.Until != nil {
			cause = strings.TrimPrefix(fmt.Sprintf("%s, until %v", cause, e.Until.Duration), ", ")
		}
		row(e.At.Duration, where, orDash(e.Pod), e.What, cause)
	}
	for _, p := range t.Pending {
		row(t.Until.Duration, p.Node, p.Pod, "pending", fmt.Sprintf("until %v", p.Until.Duration))
	}
	w.Flush()
	var lines []string
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.TrimRight(line, " \n")+"\n")
	}
	return strings.Join(lines, "")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func offset(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
