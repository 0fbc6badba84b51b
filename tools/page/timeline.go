package page

import (
	"cmp"
	"slices"
	"time"
)

// Timeline is what happens when: a lane for each node and pod.
type Timeline struct {
	Title string
	// Steps is the number of steps when things have an order and no times, such as the waves of a drain; 0 means that Span.From and
	// Span.To are durations.
	Steps int
	Lanes []*Lane
	byKey map[string]*Lane
}

// Lane is what happens to one node or pod.
type Lane struct {
	Node, Pod string // one of them; a pod is NAMESPACE/NAME
	Spans     []Span
}

// Span is one thing that happens.
type Span struct {
	From, To time.Duration // with Timeline.Steps: the number of the step as a duration, from 0
	Kind     Kind
	Text     string // in words, with the time: "leaves for n3 after 30s"
}

// Kind is what a span looks like.
type Kind string

// The kinds of spans.
const (
	Leaves  Kind = "leaves"  // a pod leaves its node
	Comes   Kind = "comes"   // a pod or node comes
	Waits   Kind = "waits"   // something may still change
	Stays   Kind = "stays"   // what was about to happen does not
	Changes Kind = "changes" // a node changes
)

// Add adds a span to the lane of a node or pod, which it makes.
func (t *Timeline) Add(node, pod string, s Span) {
	if t.byKey == nil {
		t.byKey = map[string]*Lane{}
	}
	key := node + "\x00" + pod
	lane := t.byKey[key]
	if lane == nil {
		lane = &Lane{Node: node, Pod: pod}
		t.byKey[key] = lane
		t.Lanes = append(t.Lanes, lane)
	}
	lane.Spans = append(lane.Spans, s)
}

// timeline is a Timeline in the file, in milliseconds or steps.
type timeline struct {
	Title string  `json:"title"`
	Steps int     `json:"steps"`
	End   float64 `json:"end"`
	Lanes []lane  `json:"lanes"`
}

type lane struct {
	Name  string `json:"name"`
	Node  int    `json:"node"` // -1: none
	Pod   int    `json:"pod"`
	Spans []span `json:"spans"`
}

type span struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	Kind Kind    `json:"kind"`
	Text string  `json:"text"`
}

// in returns the timeline with the nodes and pods of a page: the lanes in the order in which something begins there, nodes before
// pods.
func (t *Timeline) in(nodes, pods map[string]int) *timeline {
	out := &timeline{Title: t.Title, Steps: t.Steps, End: float64(t.Steps)}
	unit := float64(time.Millisecond)
	if t.Steps > 0 {
		unit = 1
	}
	lanes := slices.Clone(t.Lanes)
	slices.SortStableFunc(lanes, func(a, b *Lane) int {
		return cmp.Or(cmp.Compare(a.begin(), b.begin()), cmp.Compare(len(a.Pod), 0)-cmp.Compare(len(b.Pod), 0))
	})
	at := func(index map[string]int, name string) int {
		if k, ok := index[name]; ok && name != "" {
			return k
		}
		return -1
	}
	for _, l := range lanes {
		x := lane{Name: cmp.Or(l.Pod, l.Node), Node: at(nodes, l.Node), Pod: at(pods, l.Pod), Spans: []span{}}
		for _, s := range l.Spans {
			x.Spans = append(x.Spans, span{float64(s.From) / unit, float64(s.To) / unit, s.Kind, s.Text})
			out.End = max(out.End, float64(s.To)/unit)
		}
		out.Lanes = append(out.Lanes, x)
	}
	return out
}

func (l *Lane) begin() time.Duration {
	if len(l.Spans) == 0 {
		return 0
	}
	return l.Spans[0].From
}
