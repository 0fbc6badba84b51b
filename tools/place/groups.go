package place

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/tools/report"
)

// groupState is what has become of a group of pods.
type groupState struct {
	Group     string `json:"group"` // NAMESPACE/NAME
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Needs     int    `json:"needs"`  // how many pods must have nodes: minCount of a gang, 1 of any other group
	Pods      int    `json:"pods"`   // how many pods of the group exist
	Placed    int    `json:"placed"` // how many of them have nodes
	// The reason of the condition PodGroupInitiallyScheduled: Scheduled, Unschedulable, SchedulerError, or "".
	Reason  string `json:"reason"`
	Message string `json:"message"` // the message of that condition, or how many pods are missing
	// Why the group waits, whether a placement exists, and what helps, in lines; of the first ten groups that wait.
	Why []string `json:"why,omitempty"`
}

// tellHeld adds the entries of members that were never tried: their group has no object, or too few pods.
func (x *simulation) tellHeld() {
	if x.w.groups == nil {
		return
	}
	held := map[string]queue.Explanation{}
	x.w.s.Queue().Read(func(q *queue.Queue) {
		for _, p := range x.w.pending {
			if x.last[key(p)].Pod == "" {
				held[key(p)] = q.Explain(p, x.w.now)
			}
		}
	})
	x.w.s.View(func(c *cluster.Snapshot) {
		for _, p := range x.w.pending {
			p = x.w.pods[key(p)]
			if p == nil || held[key(p)].Place != queue.Gated && held[key(p)].Place != queue.Incomplete {
				continue
			}
			e := gatedEntry(p)
			e.Message = held[key(p)].GateMessage
			if group, ok := podgroup.Of(p); ok && held[key(p)].Place == queue.Incomplete {
				_, _, err := podgroup.RootOf(c, p.Namespace, group, *x.w.groups)
				e.Message = fmt.Sprint(err)
			}
			x.add(p, e)
		}
	})
}

// groups returns what has become of the groups that pods are in, by their order in the input.
func (x *simulation) groups() (out []groupState) {
	if x.w.groups == nil {
		return nil
	}
	known, placed := map[types.NamespacedName]int{}, map[types.NamespacedName]int{}
	for _, p := range x.w.pods {
		if name, ok := podgroup.Of(p); ok && !cluster.Finished(p) {
			at := types.NamespacedName{Namespace: p.Namespace, Name: name}
			known[at]++
			if p.Spec.NodeName != "" {
				placed[at]++
			}
		}
	}
	list, _ := x.w.objects.AcceptedGroups()
	for _, g := range list {
		at := types.NamespacedName{Namespace: g.Namespace, Name: g.Name}
		if known[at] == 0 || !x.o.tables.Shows(g.Namespace) {
			continue
		}
		s := groupState{Group: key(g), Namespace: g.Namespace, Name: g.Name, Needs: g.Needs(), Pods: known[at], Placed: placed[at]}
		c, written := x.w.states[key(g)]
		for _, old := range g.Conditions {
			if old.Type == podgroup.InitiallyScheduled && !written {
				c = old
			}
		}
		s.Reason, s.Message = c.Reason, c.Message
		if c == (metav1.Condition{}) && s.Pods < s.Needs {
			s.Message = fmt.Sprintf("%d of %s exist, %d needed", s.Pods, report.Count(s.Needs, "member"), s.Needs)
		}
		out = append(out, s)
	}
	return out
}

// groupTable has a row for each group.
func groupTable(groups []groupState) (header []string, rows [][]string) {
	for _, g := range groups {
		rows = append(rows, []string{g.Namespace, g.Name, fmt.Sprint(g.Needs), fmt.Sprint(g.Pods), fmt.Sprint(g.Placed), orNone(g.Reason), g.Message})
	}
	return []string{"NAMESPACE", "GROUP", "NEEDS", "PODS", "PLACED", "REASON", "MESSAGE"}, rows
}

// groupText is the table of groups, and why groups wait. cut reports whether the table left something out.
func groupText(groups []groupState, layout report.Layout) (text string, cut bool) {
	table, cut := layout.Columns(groupTable(groups))
	var b strings.Builder
	b.WriteString("\n" + table)
	for _, g := range groups {
		if len(g.Why) > 0 {
			report.Textf(&b, "\nGroup %s:\n", g.Group)
		}
		for _, line := range g.Why {
			report.Textf(&b, "  %s\n", line)
		}
	}
	return b.String(), cut
}
