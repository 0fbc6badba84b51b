package taint

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The values of Entry.What.
const (
	EntryEvent     = "event"     // an event of the input
	EntryUnknown   = "unknown"   // a silent node's conditions turned Unknown
	EntryNotReady  = "notReady"  // the node is not ready any more: its pods get Ready=False
	EntryTainted   = "tainted"   // a node got a taint
	EntryUntainted = "untainted" // a node lost a taint
	EntryZone      = "zone"      // a zone got another state or rate
	EntryStarted   = "started"   // a pod's time began to run
	EntryMoved     = "moved"     // a pod's time changed
	EntryCancelled = "cancelled" // a pod's time was stopped: it stays
	EntryEvicted   = "evicted"   // a pod is deleted
)

// Entry is one line of a Timeline.
type Entry struct {
	At   metav1.Duration `json:"at"` // from the start
	What string          `json:"what"`
	Node string          `json:"node,omitempty"`
	Zone string          `json:"zone,omitempty"`
	Pod  string          `json:"pod,omitempty"` // namespace/name
	// Cause is what the entry is about, in words: the taint that decides and the time it leaves, the event, the state of a
	// zone and its rate.
	Cause string `json:"cause,omitempty"`
	// Until is when a pod's time ends (started, moved) or would have ended (cancelled), from the start.
	Until *metav1.Duration `json:"until,omitempty"`
}

// Pending is a pod whose time is still running at the end of a Timeline.
type Pending struct {
	Pod   string          `json:"pod"`
	Node  string          `json:"node"`
	Until metav1.Duration `json:"until"` // from the start
}

// Timeline is a forecast: what happens when, in order, and whose time is still running at its end.
type Timeline struct {
	Until   metav1.Duration `json:"until"`
	Entries []Entry         `json:"entries"`
	Pending []Pending       `json:"pending,omitempty"`
}

// Evictions returns the entries of pods that are deleted.
func (t Timeline) Evictions() []Entry { return t.only(EntryEvicted) }

// Cancellations returns the entries of pods whose time was stopped.
func (t Timeline) Cancellations() []Entry { return t.only(EntryCancelled) }

func (t Timeline) only(what string) []Entry {
	var list []Entry
	for _, e := range t.Entries {
		if e.What == what {
			list = append(list, e)
		}
	}
	return list
}

// String returns the timeline as a table with the columns AT, NODE, POD, WHAT and CAUSE, and a line for each pod whose time
// is still running.
func (t Timeline) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(columns ...any) { fmt.Fprintf(w, "%v\t%v\t%v\t%v\t%v\n", columns...) } // a Builder never fails
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
