package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/taints"
)

// closed returns the cause of a pod whose pool has no open node.
func (x *sought) closed() *Cause {
	var list []closing
	byType := map[string]int{}
	for _, i := range x.pool {
		c := x.closingOf(x.c.Node(i))
		list = append(list, c)
		byType[c.row.of]++
	}
	out := &Cause{Type: list[0].row.of, Nodes: x.namesOf(x.pool)}
	for _, c := range list {
		if byType[c.row.of] > byType[out.Type] {
			out.Type = c.row.of
		}
	}
	if c := x.nearToleration(list); c != nil {
		return c
	}
	if out.Type == causeReserved {
		if c := x.meantFor(list); c != nil {
			return c
		}
	}
	out.Text = states(list, len(list) <= mostNamed)
	if len(list) > mostNamed {
		out.Text = fmt.Sprintf("none of %d nodes is open: %s", len(list), out.Text)
	}
	if len(list) == 1 {
		out.Object, out.Field, out.Found = "Node "+list[0].node.Name, "spec.taints", list[0].taint.ToString()
	}
	out.Others, out.Not = x.others(nil), not(list)
	return out
}

// not says why nobody should tolerate the state of a node, "" when no node is in a state that ends.
func not(list []closing) string {
	for _, of := range []string{causePressure, causeNotReady, causeStarting, causeLeaving} { // in the order of the harm
		for _, c := range list {
			if c.row.of == of {
				return fmt.Sprintf("tolerate %s: %s", c.taint.Key, c.row.why)
			}
		}
	}
	return ""
}

// nearToleration returns the cause of a pod with a toleration of the key of a taint, and another value or effect. Only taints that
// reserve nodes count: nobody tolerates the others. A taint that only a feature gate keeps the toleration from comes first.
func (x *sought) nearToleration(closed []closing) *Cause {
	var list []closing
	for _, c := range closed {
		list = append(append(list, c), c.more...)
	}
	for k, t := range x.pod.Spec.Tolerations {
		var nodes []string
		var taint v1.Taint
		near := func(c closing) bool { return c.row.of == causeReserved && t.Key == c.taint.Key }
		at := slices.IndexFunc(list, func(c closing) bool { return near(c) && gated(t, c.taint) })
		if at < 0 {
			at = slices.IndexFunc(list, near)
		}
		for _, c := range list {
			if near(c) && c.taint == list[at].taint {
				nodes, taint = append(nodes, c.node.Name), c.taint
			}
		}
		if nodes == nil {
			continue
		}
		text := fmt.Sprintf("it tolerates %s, and %s %s %s%s%s", tolerationText(t), few(nodes), verb(len(nodes), "has", "have"), taint.ToString(), x.ofGate(t, list[at]), besides(closed, nodes, taint))
		return &Cause{Type: causeToleration, Field: fmt.Sprintf("spec.tolerations[%d]", k), Wanted: tolerationText(t), Found: taint.ToString(), Nodes: nodes, Text: text, Others: x.others(nodes)}
	}
	return nil
}

// gated reports whether a toleration compares numbers and tolerates a taint where its feature gate is on.
func gated(t v1.Toleration, taint v1.Taint) bool {
	if !comparesNumbers(t) {
		return false
	}
	if x, err := strconv.ParseFloat(t.Value, 64); err == nil && x != math.Trunc(x) && math.Abs(x) < 1<<52 { // it means the whole number beside it
		if t.Operator == v1.TolerationOpLt {
			x = math.Ceil(x)
		}
		t.Value = strconv.FormatInt(int64(math.Floor(x)), 10)
	}
	return taints.Matches(&t, &taint, taints.Options{ComparisonOperators: true})
}

func comparesNumbers(t v1.Toleration) bool {
	return t.Operator == v1.TolerationOpGt || t.Operator == v1.TolerationOpLt
}

// ofGate says, in brackets, what a toleration that compares numbers needs besides; "" for other tolerations.
func (x *sought) ofGate(t v1.Toleration, c closing) string {
	if !comparesNumbers(t) {
		return ""
	}
	var needs []string
	if !x.compares(c) {
		needs = append(needs, "with the feature gate TaintTolerationComparisonOperators")
	}
	if _, err := strconv.ParseInt(t.Value, 10, 64); err != nil {
		needs = append(needs, fmt.Sprintf("for whole numbers alone, which %s is not", t.Value))
	} else if !gated(t, c.taint) {
		needs = append(needs, fmt.Sprintf("for numbers %s %s alone, which %s is not", map[v1.TolerationOperator]string{v1.TolerationOpGt: "above", v1.TolerationOpLt: "below"}[t.Operator], t.Value, c.taint.Value))
	}
	return fmt.Sprintf(" (%s counts %s)", t.Operator, strings.Join(needs, ", and "))
}

// compares reports whether the plan compares numbers in tolerations: it asks about a toleration of every number.
func (x *sought) compares(c closing) bool {
	asks := x.pod.DeepCopy()
	asks.Spec.Tolerations = []v1.Toleration{{Key: c.taint.Key, Operator: v1.TolerationOpGt, Value: strconv.Itoa(math.MinInt64), Effect: c.taint.Effect}}
	was := x.a
	x.a = x.prepare(asks)
	defer func() { x.a = was }()
	return !slices.ContainsFunc(x.keptOffBy(c.node), func(t v1.Taint) bool { return t == c.taint })
}

// tolerationText writes a toleration as its taint: "team=a:NoSchedule"; "team" for one of every value and effect.
func tolerationText(t v1.Toleration) string {
	text := t.Key
	switch {
	case comparesNumbers(t):
		text += " " + string(t.Operator) + " " + t.Value
	case t.Operator != v1.TolerationOpExists:
		text += "=" + t.Value
	}
	if t.Effect != "" {
		text += ":" + string(t.Effect)
	}
	return text
}

// verb returns the form for a number of subjects.
func verb(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// meantFor returns the cause of a pod that is meant for a reserved pool.
func (x *sought) meantFor(list []closing) *Cause {
	for _, c := range list {
		if c.row.kind != pool || !x.law.meant(c.taint) {
			continue
		}
		var nodes []string
		for _, other := range list {
			if other.taint.MatchTaint(&c.taint) && other.taint.Value == c.taint.Value {
				nodes = append(nodes, other.node.Name)
			}
		}
		because := "it selects a label of this pool alone"
		overhead.Each(x.pod, overhead.Options{}, func(name v1.ResourceName, total int64) {
			if total > 0 && strings.Contains(string(name), "/") {
				because = "it asks for " + string(name)
			}
		})
		return &Cause{Type: causeMeant, Field: "spec.tolerations", Wanted: c.taint.ToString(), Nodes: nodes,
			Text: fmt.Sprintf("%s %s reserved by %s, and it does not tolerate that, though %s", few(nodes), verb(len(nodes), "is", "are"), taintText(c.taint), because) + besides(list, nodes, c.taint), Others: x.others(nodes)}
	}
	return nil
}

// others says why the other nodes do not take the pod. about has the names of the nodes of the cause; nil means the nodes of the pool. The
// text is "" when there are no other nodes.
func (x *sought) others(about []string) string {
	if about == nil {
		about = x.namesOf(x.pool)
	}
	is := make(map[string]bool, len(about))
	for _, name := range about {
		is[name] = true
	}
	rest := 0
	var shut []closing
	unmatched, full, ruled := 0, 0, 0
	for _, i := range x.slots {
		n := x.c.Node(i)
		if is[n.Name] {
			continue
		}
		rest++
		switch {
		case !x.inPool[i]:
			unmatched++
		case x.inOpen[i] && !slices.ContainsFunc(x.fails[i], func(f failure) bool { return f.plugin != ofRoom }):
			full++
		case x.inOpen[i]:
			ruled++
		default:
			shut = append(shut, x.closingOf(n))
		}
	}
	if rest == 1 && len(shut) == 0 {
		return "the other node " + map[int]string{unmatched: "is not of its pool", full: "is too full", ruled: "fails other rules"}[1]
	}
	var parts []string
	if unmatched > 0 {
		parts = append(parts, fmt.Sprintf("%d %s not of its pool", unmatched, verb(unmatched, "is", "are")))
	}
	if full > 0 {
		parts = append(parts, fmt.Sprintf("%d %s too full", full, verb(full, "is", "are")))
	}
	if ruled > 0 {
		parts = append(parts, fmt.Sprintf("%d %s other rules", ruled, verb(ruled, "fails", "fail")))
	}
	if len(shut) > 0 {
		parts = append(parts, states(shut, false))
	}
	switch {
	case rest == 0:
		return ""
	case rest == 1:
		return joined(parts)
	case unmatched == rest:
		return fmt.Sprintf("the other %d nodes are not of its pool", rest)
	case full == rest:
		return fmt.Sprintf("the other %d nodes are too full", rest)
	case ruled == rest:
		return fmt.Sprintf("the other %d nodes fail other rules", rest)
	}
	return fmt.Sprintf("of the other %d nodes: %s", rest, strings.Join(parts, ", "))
}
