package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/taints"
)

// closing is why one node is closed to the pod.
type closing struct {
	node  *v1.Node
	taint v1.Taint // the cordon's own taint for a node that is only cordoned
	row   taintRow
	more  []closing // what closes the node besides
}

// closingOrder says which of several taints of a node is why it is closed.
var closingOrder = []taintKind{provider, reserved, spot, pool, agent, cordon}

// keptOffBy returns the taints of a node that keep the pod off, as the plan's filter judges tolerations.
func (x *sought) keptOffBy(n *v1.Node) (out []v1.Taint) {
	var judged []taints.Explanation // nil without such a filter
	for _, p := range x.a.Predicates {
		if f, ok := p.(interface {
			Explain(i int) []taints.Explanation
		}); ok {
			judged = f.Explain(x.c.Slot(n.Name))
		}
	}
	for k, t := range n.Spec.Taints {
		if tolerated := k < len(judged) && judged[k].By >= 0; !tolerated && keepsOff(x.pod, t, taints.Options{}) {
			out = append(out, t)
		}
	}
	return out
}

// closingOf returns why a node of the pool is closed: what reserves it comes before the state that it is in, and a cordon is last. Of the states
// the first alone counts: the others mostly end with it.
func (x *sought) closingOf(n *v1.Node) (out closing) {
	var all []closing
	take := func(t v1.Taint) {
		c := closing{node: n, taint: t, row: rowOf(n, t)}
		if !slices.ContainsFunc(all, func(has closing) bool {
			return has.says(false) == c.says(false) || has.row.kind == agent && c.row.kind == agent
		}) {
			all = append(all, c)
		}
	}
	for _, t := range x.keptOffBy(n) {
		take(t)
	}
	if n.Spec.Unschedulable {
		take(v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule})
	}
	if all == nil { // a plugin of the caller closes it, or none does
		return closing{node: n, row: taintRow{of: causeOther, says: "%s fails other rules"}}
	}
	slices.SortStableFunc(all, func(a, b closing) int {
		return cmp.Compare(slices.Index(closingOrder, a.row.kind), slices.Index(closingOrder, b.row.kind))
	})
	out, out.more = all[0], all[1:]
	return out
}

// says says what is wrong with the node for this reason, with %s for its name. detailed adds the message of the node's condition.
func (c closing) says(detailed bool) string {
	says := c.row.says
	switch {
	case c.row.of == causeCordoned && c.row.kind == pool:
		says = "%s is marked by " + taintText(c.taint)
	case c.row.kind == pool || c.row.kind == spot:
		says = "%s is reserved by " + taintText(c.taint)
	}
	if detailed {
		says += condition(c)
	}
	return says
}

// said is says about nodes that are closed for the same reason: who has their names, and n is their number.
func (c closing) said(detailed bool, who string, n int) string {
	says := c.says(detailed)
	if n > 1 {
		says = plural(says)
	}
	return strings.Replace(says, "%s", who, 1)
}

// whole is said with what closes the nodes besides.
func (c closing) whole(who string, n int) string {
	text, link := c.said(true, who, n), " and "
	if !strings.HasPrefix(text, who) { // the nodes are not its subject
		link = ", which "
	}
	for _, also := range c.more {
		says := also.said(true, who, n)
		by, reserves := strings.CutPrefix(says, who+" "+verb(n, "is", "are")+" reserved by ")
		switch rest, of := strings.CutPrefix(says, who+" "); {
		case reserves && strings.Contains(text, " reserved by "):
			text += " and by " + by
		case of:
			text += link + rest
			link = " and "
		default:
			text += ", and " + also.said(true, verb(n, "it", "them"), 1)
		}
	}
	return text
}

// states says why nodes are closed. Nodes with the same reason share one part of the text. detailed adds the messages of the nodes' conditions,
// and every further reason of a node.
func states(list []closing, detailed bool) string {
	var kinds []string
	nodes := map[string][]closing{}
	for _, c := range list {
		says := c.says(detailed)
		if detailed {
			for _, also := range c.more {
				says += "\n" + also.says(true)
			}
		}
		if nodes[says] == nil {
			kinds = append(kinds, says)
		}
		nodes[says] = append(nodes[says], c)
	}
	slices.SortStableFunc(kinds, func(a, b string) int { return cmp.Compare(len(nodes[b]), len(nodes[a])) })
	var out []string
	for _, says := range kinds {
		of := nodes[says]
		var names []string
		for _, c := range of {
			names = append(names, c.node.Name)
		}
		who := joined(names)
		if len(of) > mostNamed {
			who = fmt.Sprintf("%d nodes", len(of))
		}
		if detailed {
			out = append(out, of[0].whole(who, len(of)))
		} else {
			out = append(out, of[0].said(false, who, len(of)))
		}
	}
	return strings.Join(out, ", ")
}

// besides says what else closes all of some nodes of a list to the pod, beside one taint: "; n1 is not ready", "; they are not ready". It is "" when nothing does.
func besides(list []closing, nodes []string, but v1.Taint) string {
	var out []closing
	first := true
	for _, c := range list {
		if !slices.Contains(nodes, c.node.Name) {
			continue
		}
		reasons := append([]closing{c}, c.more...)
		if first {
			out, first = slices.Clone(reasons), false
		}
		out = slices.DeleteFunc(out, func(has closing) bool {
			return has.taint.Key == but.Key && has.taint.Value == but.Value || !slices.ContainsFunc(reasons, func(c closing) bool { return c.says(false) == has.says(false) })
		})
	}
	text := ""
	for _, c := range out {
		text += "; " + c.said(false, verb(len(nodes), nodes[0], "they"), len(nodes))
		if c.row.of == causeReserved {
			text += " too"
		}
	}
	return text
}

// plural puts the verb behind a name into its plural.
func plural(says string) string {
	for _, verb := range [][2]string{{"%s is ", "%s are "}, {"%s has ", "%s have "}, {"%s waits ", "%s wait "}} {
		if strings.HasPrefix(says, verb[0]) {
			return verb[1] + says[len(verb[0]):]
		}
	}
	return says
}

// taintText writes a taint without its effect: "dedicated=a".
func taintText(t v1.Taint) string {
	if t.Value == "" {
		return t.Key
	}
	return t.Key + "=" + t.Value
}

// condition returns what the condition behind a state of a node says, in brackets; "" when it says nothing.
func condition(c closing) string {
	of := map[string]v1.NodeConditionType{
		v1.TaintNodeNotReady: v1.NodeReady, v1.TaintNodeUnreachable: v1.NodeReady, v1.TaintNodeNetworkUnavailable: v1.NodeNetworkUnavailable,
		v1.TaintNodeDiskPressure: v1.NodeDiskPressure, v1.TaintNodePIDPressure: v1.NodePIDPressure, v1.TaintNodeMemoryPressure: v1.NodeMemoryPressure,
	}[c.taint.Key]
	for _, k := range c.node.Status.Conditions {
		if k.Type == of && (k.Status == v1.ConditionTrue) == (of != v1.NodeReady) && cmp.Or(k.Message, k.Reason) != "" {
			return " (" + strings.TrimSuffix(cmp.Or(k.Message, k.Reason), ".") + ")"
		}
	}
	return ""
}
