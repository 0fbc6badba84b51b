package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ofTaints is the plugin whose details are taints.
const ofTaints = "TaintToleration"

// tally counts the nodes of each taint. Taints of one key and value are one, whatever their effects.
type tally struct {
	nodes map[string]int
	last  map[string]string // the last node that counted
}

// add counts a node for the taint of a detail, such as "dedicated=a:NoSchedule rejects". Details of one node come together.
func (t *tally) add(detail, node string) {
	taint := strings.TrimSuffix(detail, " rejects")
	if at := strings.LastIndex(taint, ":"); at > 0 {
		taint = taint[:at]
	}
	if t.nodes == nil {
		t.nodes, t.last = map[string]int{}, map[string]string{}
	}
	if t.last[taint] != node {
		t.nodes[taint]++
		t.last[taint] = node
	}
}

// mostTaints is how many taints a line names.
const mostTaints = 4

// String returns the taints with their numbers of nodes, the taint of the most nodes first, and equals by name.
func (t *tally) String() string {
	names := slices.SortedFunc(maps.Keys(t.nodes), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.nodes[b], t.nodes[a]), strings.Compare(a, b))
	})
	var out []string
	for _, name := range names[:min(mostTaints, len(names))] {
		out = append(out, fmt.Sprintf("%s %d", name, t.nodes[name]))
	}
	if more := len(names) - mostTaints; more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return "by taint: " + strings.Join(out, ", ")
}
