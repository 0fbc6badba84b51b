package filter

import (
	"slices"
	"strconv"
	"strings"
)

// NoNodes is the whole message of an attempt in a cluster without nodes.
const NoNodes = "no nodes available to schedule pods"

// noteLimit is the largest length of an event's note in bytes. Rule: the API's validation of Event.note.
const noteLimit = 1024

// Message has the parts of the text about a failed attempt. String returns the text of the pod's PodScheduled condition, and
// [Cut] shortens the text to the note of the FailedScheduling event. The zero value is a failure without a reason.
type Message struct {
	// Nodes is the number of nodes that the scheduler knows: the N of "0/N nodes are available". It is 1 when Reserve or
	// Permit rejected the pod on the chosen node.
	Nodes int
	// PreFilter is the message of the PreFilter plugin that rejected the pod. When it is not empty, the nodes' reasons are
	// not shown.
	PreFilter string
	// Reasons holds how many nodes have each reason (Histogram.Counts). Equal reasons are added up.
	Reasons []Count
	// Absent holds the reasons of nodes that no filter looked at, such as the nodes that PreFilter plugins took away
	// (PreFilters.LeftOut). AbsentNodes is the number of those nodes.
	Absent      []string
	AbsentNodes int
	// PostFilter is the text of the PostFilter plugins. No dot follows it. preemption.PostFilterText makes that of the
	// default plugins.
	PostFilter string
}

// String returns three parts, separated by spaces:
//
//  1. "0/N nodes are available:",
//  2. the PreFilter message, or else the list of "<count> <reason>", then a dot,
//  3. the PostFilter text.
//
// The list is sorted as text: "10 x" comes before "2 y". Empty parts are left out. O(reasons x log reasons).
func (m Message) String() string {
	var b strings.Builder
	b.WriteString("0/")
	b.WriteString(strconv.Itoa(m.Nodes))
	b.WriteString(" nodes are available:")
	if m.PreFilter != "" {
		b.WriteByte(' ')
		b.WriteString(m.PreFilter)
		b.WriteByte('.')
	} else {
		m.writeReasons(&b)
	}
	if m.PostFilter != "" {
		b.WriteByte(' ')
		b.WriteString(m.PostFilter)
	}
	return b.String()
}

// writeReasons writes a space, the list of "<count> <reason>" and a dot; nothing without reasons.
func (m Message) writeReasons(b *strings.Builder) {
	var room [8]Count
	list := append(room[:0], m.Reasons...)
	if m.AbsentNodes > 0 {
		for _, reason := range m.Absent {
			list = append(list, Count{reason, m.AbsentNodes})
		}
	}
	if len(list) == 0 {
		return
	}
	slices.SortFunc(list, func(x, y Count) int { return strings.Compare(x.Reason, y.Reason) })
	reasons, size := list[:1], 0
	for _, c := range list[1:] {
		if last := &reasons[len(reasons)-1]; last.Reason == c.Reason {
			last.Nodes += c.Nodes
		} else {
			reasons = append(reasons, c)
		}
	}
	slices.SortFunc(reasons, compareTexts)
	for k := range reasons {
		size += len(reasons[k].Reason) + 10
	}
	b.Grow(size)
	for k, c := range reasons {
		if k > 0 {
			b.WriteByte(',')
		}
		var digits [20]byte
		b.WriteByte(' ')
		b.Write(strconv.AppendInt(digits[:0], int64(c.Nodes), 10))
		b.WriteByte(' ')
		b.WriteString(c.Reason)
	}
	b.WriteByte('.')
}

// compareTexts compares "<count> <reason>" as text.
func compareTexts(x, y Count) int {
	if x.Nodes != y.Nodes {
		var one, other [20]byte
		return slices.Compare(strconv.AppendInt(one[:0], int64(x.Nodes), 10), strconv.AppendInt(other[:0], int64(y.Nodes), 10))
	}
	return strings.Compare(x.Reason, y.Reason)
}

// Cut shortens a text to the note of an event, at most 1024 bytes. For a longer text Cut returns the first 1020 bytes and "
// ...". It may split a character of several bytes, as kube-scheduler does.
func Cut(text string) string {
	const more = " ..."
	if len(text) <= noteLimit {
		return text
	}
	return text[:noteLimit-len(more)] + more
}
