package place

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
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
	Parent    string `json:"parent,omitempty"` // the composite group above, in the same namespace
	Needs     int    `json:"needs"`            // how many pods must have nodes: minCount of a gang, 1 of any other group
	Pods      int    `json:"pods"`             // how many pods of the group exist
	Placed    int    `json:"placed"`           // how many of them have nodes
	// The reason of the condition PodGroupInitiallyScheduled: Scheduled, Unschedulable, SchedulerError, or "".
	Reason  string `json:"reason"`
	Message string `json:"message"` // the message of that condition, or how many pods are missing, or which object above is, or what its tree waits for, or which member is gated
	// Why the group waits, whether a placement exists, and what helps, in lines; of the first ten groups that wait.
	Why []string `json:"why,omitempty"`

	root string // of its tree, when Why is set: all groups of the tree have the same Why
}

// compositeState is what has become of a composite group. kube-scheduler writes no condition on it.
type compositeState struct {
	Group     string   `json:"group"` // NAMESPACE/NAME
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Parent    string   `json:"parent,omitempty"` // the composite group above, in the same namespace
	Needs     int      `json:"needs"`            // how many children must have what they need: minGroupCount of a gang, 1 of any other composite group
	Placed    int      `json:"placed"`           // how many children have what they need
	Children  []string `json:"children"`         // podgroup/NAME or compositepodgroup/NAME, in the order in which they are decided
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

// groups returns what has become of the groups that pods are in, and of the composite groups above them: those of the input in its order, then
// those that came later, by name.
func (x *simulation) groups() (out []groupState, above []compositeState) {
	if x.w.groups == nil {
		return nil, nil
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
	gated := x.gatedMembers()
	place := map[types.NamespacedName]int{}
	list, _ := x.w.objects.AcceptedGroups()
	for k, g := range list {
		place[types.NamespacedName{Namespace: g.Namespace, Name: g.Name}] = k - len(list)
	}
	hasRow := map[string]bool{}
	x.w.s.View(func(c *cluster.Snapshot) {
		for _, at := range slices.SortedFunc(maps.Keys(known), func(a, b types.NamespacedName) int {
			return cmp.Or(cmp.Compare(place[a], place[b]), cmp.Compare(a.String(), b.String()))
		}) {
			g := c.Group(at.Namespace, at.Name)
			if g == nil || !x.o.Tables.Shows(at.Namespace) {
				continue
			}
			tree, missing := podgroup.TreeOf(c, at.Namespace, at.Name, *x.w.groups)
			out = append(out, x.groupState(g, known[at], placed[at], missing))
			if missing != nil {
				continue
			}
			if last := &out[len(out)-1]; last.Message == "" && last.Reason == "" && last.Placed < last.Pods {
				last.Message = cmp.Or(tree.GateText(func(g *podgroup.Group) int { return known[types.NamespacedName{Namespace: g.Namespace, Name: g.Name}] }, *x.w.groups), gateText(tree, gated))
			}
			for _, n := range tree.Nodes() {
				if n.Composite != nil && !hasRow[n.String()] {
					hasRow[n.String()] = true
					above = append(above, compositeStateOf(n, func(g *podgroup.Group) int {
						return placed[types.NamespacedName{Namespace: g.Namespace, Name: g.Name}]
					}))
				}
			}
		}
	})
	return out, above
}

// groupState returns what has become of a group. missing: an object above it does not exist, and its pods wait for that.
func (x *simulation) groupState(g *podgroup.Group, known, placed int, missing error) groupState {
	s := groupState{Group: key(g), Namespace: g.Namespace, Name: g.Name, Parent: g.Parent, Needs: g.Needs(), Pods: known, Placed: placed}
	if !x.w.groups.Composites {
		s.Parent = "" // does not count
	}
	c, written := x.w.states[key(g)]
	for _, old := range g.Conditions {
		if old.Type == podgroup.InitiallyScheduled && !written {
			c = old
		}
	}
	s.Reason, s.Message = c.Reason, c.Message
	switch {
	case c != (metav1.Condition{}):
	case missing != nil:
		s.Message = missing.Error()
	case s.Pods < s.Needs:
		s.Message = fmt.Sprintf("%d of %s exist, %d needed", s.Pods, report.Count(s.Needs, "member"), s.Needs)
	}
	return s
}

// gatedMembers returns the waiting pods of groups that have scheduling gates.
func (x *simulation) gatedMembers() (out []*v1.Pod) {
	for _, p := range x.w.pending {
		if p = x.w.pods[key(p)]; p != nil && p.Spec.NodeName == "" && len(p.Spec.SchedulingGates) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// gateText names the first member of a tree that has scheduling gates: they hold all members. "" for none.
func gateText(tree *podgroup.Tree, gated []*v1.Pod) string {
	for _, p := range gated {
		if name, ok := podgroup.Of(p); ok && p.Namespace == tree.Root().Namespace && tree.Home(name) != nil {
			var gates []string
			for _, g := range p.Spec.SchedulingGates {
				gates = append(gates, g.Name)
			}
			return fmt.Sprintf("pod %s has the scheduling gate %s, which holds all members", p.Name, strings.Join(gates, ", "))
		}
	}
	return ""
}

// compositeStateOf returns what has become of a composite group. placed returns how many pods of a group have nodes.
func compositeStateOf(n *podgroup.Node, placed func(*podgroup.Group) int) compositeState {
	s := compositeState{Group: n.Namespace + "/" + n.Name, Namespace: n.Namespace, Name: n.Name, Needs: n.Needs(), Children: []string{}}
	if n.Up != nil {
		s.Parent = n.Up.Name
	}
	for _, child := range n.Children {
		kind := "podgroup/"
		if child.Composite != nil {
			kind = "compositepodgroup/"
		}
		s.Children = append(s.Children, kind+child.Name)
		if child.Ready(placed) {
			s.Placed++
		}
	}
	return s
}

// groupTable has a row for each group.
func groupTable(groups []groupState) (header []string, rows [][]string) {
	for _, g := range groups {
		rows = append(rows, []string{g.Namespace, g.Name, fmt.Sprint(g.Needs), fmt.Sprint(g.Pods), fmt.Sprint(g.Placed), orNone(g.Reason), g.Message})
	}
	return []string{"NAMESPACE", "GROUP", "NEEDS", "PODS", "PLACED", "REASON", "MESSAGE"}, rows
}

// compositeTable has a row for each composite group.
func compositeTable(groups []compositeState) (header []string, rows [][]string) {
	for _, g := range groups {
		rows = append(rows, []string{g.Namespace, g.Name, fmt.Sprint(g.Needs), fmt.Sprint(len(g.Children)), fmt.Sprint(g.Placed), firstNames(g.Children)})
	}
	return []string{"NAMESPACE", "COMPOSITE", "NEEDS", "GROUPS", "PLACED", "CHILDREN"}, rows
}

// groupText is the tables of groups, and why groups wait. cut reports whether a table left something out.
func groupText(groups []groupState, above []compositeState, layout report.Layout) (text string, cut bool) {
	table, cut := layout.Columns(groupTable(groups))
	var b strings.Builder
	b.WriteString("\n" + table)
	if len(above) > 0 {
		table, more := layout.Columns(compositeTable(above))
		b.WriteString("\n" + table)
		cut = cut || more
	}
	told := map[string]bool{}
	for k, g := range groups {
		if len(g.Why) == 0 || told[g.root] {
			continue
		}
		told[g.root] = true
		report.Textf(&b, "\nGroup %s%s:\n", g.Group, alsoOf(groups[k:]))
		for _, line := range g.Why {
			report.Textf(&b, "  %s\n", line)
		}
	}
	return b.String(), cut
}

// alsoOf names the groups that wait in the tree of the first one, for which the same is true: ", and default/b of the same tree".
func alsoOf(groups []groupState) string {
	var others []string
	for _, g := range groups[1:] {
		if len(g.Why) > 0 && g.root == groups[0].root {
			others = append(others, g.Group)
		}
	}
	if others == nil {
		return ""
	}
	return fmt.Sprintf(", and %s of the same tree", firstNames(others))
}
