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
// Cut shortens the text to the note of the FailedScheduling event. The zero value is a failure without a reason.
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
	// (PreFilters.Outside). AbsentNodes is the number of those nodes.
	Absent      []string
	AbsentNodes int
	// PostFilter is the text of the PostFilter plugins. No dot follows it. With v1.36's default plugins it is "" when a node
	// was nominated, "not found" when a PreFilter plugin before DynamicResources rejected the pod with
	// UnschedulableAndUnresolvable, and else "no new claims to deallocate, preemption: " with the outcome of preemption.
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
	} else if entries := m.entries(); len(entries) > 0 {
		b.WriteByte(' ')
		b.WriteString(strings.Join(entries, ", "))
		b.WriteByte('.')
	}
	if m.PostFilter != "" {
		b.WriteByte(' ')
		b.WriteString(m.PostFilter)
	}
	return b.String()
}

func (m Message) entries() []string {
	sum := make(map[string]int, len(m.Reasons)+len(m.Absent))
	for _, c := range m.Reasons {
		sum[c.Reason] += c.Nodes
	}
	if m.AbsentNodes > 0 {
		for _, reason := range m.Absent {
			sum[reason] += m.AbsentNodes
		}
	}
	entries := make([]string, 0, len(sum))
	for reason, n := range sum {
		entries = append(entries, strconv.Itoa(n)+" "+reason)
	}
	slices.Sort(entries)
	return entries
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
