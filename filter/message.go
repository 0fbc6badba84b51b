package filter

import (
	"slices"
	"strconv"
	"strings"
)

// NoNodes is the message of an attempt in a cluster without nodes. It is the whole message.
const NoNodes = "no nodes available to schedule pods"

// noteLimit is the largest length of an event's note in bytes. Rule: the API's validation of Event.note.
const noteLimit = 1024

// Message is what a failed attempt says, in parts. String gives the text of the pod's PodScheduled condition, Note that of
// the FailedScheduling event. The zero value is a failure without any reason.
type Message struct {
	// Nodes is the number of nodes the scheduler knows: the N of "0/N nodes are available". 1 when Reserve or Permit
	// rejected the pod on the chosen node.
	Nodes int
	// PreFilter is the message of the PreFilter plugin that rejected the pod. When it is not empty, the nodes' reasons are
	// not shown.
	PreFilter string
	// Reasons holds how many nodes have each reason (Histogram.Counts). Equal reasons are added up.
	Reasons []Count
	// Absent holds the reasons of nodes without a verdict of their own, such as those outside the set that PreFilter
	// plugins left (PreFilters.Outside), and AbsentNodes how many those are.
	Absent      []string
	AbsentNodes int
	// PostFilter is the text of the PostFilter plugins (PostFilter.String). It is not followed by a dot.
	PostFilter string
}

// String returns "0/N nodes are available:", then the PreFilter message or the sorted list "<count> <reason>" with a dot
// behind, then the PostFilter text. The list is sorted as text: "10 x" stands before "2 y". O(reasons).
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

// Note returns String cut to noteLimit bytes.
func (m Message) Note() string { return Cut(m.String()) }

// Cut shortens a text of more than noteLimit bytes to its first noteLimit-4 bytes and " ...". It cuts between bytes, as
// kube-scheduler does, so a character of several bytes may be split.
func Cut(text string) string {
	const more = " ..."
	if len(text) <= noteLimit {
		return text
	}
	return text[:noteLimit-len(more)] + more
}

// PostFilter is what the PostFilter plugins of the default profile leave behind. The zero value is a profile in which
// DynamicResources found nothing to do and DefaultPreemption is not enabled.
type PostFilter struct {
	// Nominated says that a node was nominated: preemption succeeded, and nothing is said.
	Nominated bool
	// Preemption is the outcome of preemption without its prefix, such as "not eligible due to
	// preemptionPolicy=Never."; empty when the plugin said nothing.
	Preemption string
	// WithoutClaims says that DynamicResources is not enabled in the profile.
	WithoutClaims bool
	// StoppedBeforeClaims says that a PreFilter plugin in front of DynamicResources ended the attempt with
	// UnschedulableAndUnresolvable (PreFilters.Stopped). DynamicResources' PostFilter then fails with "not found", and
	// preemption is not tried.
	StoppedBeforeClaims bool
}

// String returns the text of Message.PostFilter, "" when there is none.
func (p PostFilter) String() string {
	if p.Nominated {
		return ""
	}
	var parts []string
	if !p.WithoutClaims {
		if p.StoppedBeforeClaims {
			return "not found"
		}
		parts = append(parts, "no new claims to deallocate")
	}
	if p.Preemption != "" {
		parts = append(parts, "preemption: "+p.Preemption)
	}
	return strings.Join(parts, ", ")
}
