package diagnose

import (
	"slices"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
)

// Obstacle is one reason that keeps a pod off nodes.
type Obstacle struct {
	// Plugin is the plugin that rejects; "" for a reason of several plugins together.
	Plugin string `json:"plugin,omitempty"`
	// Reason is kube-scheduler's text.
	Reason string `json:"reason"`
	// Nodes is the number of nodes with the reason. Examples has the first three of them in scan order.
	Nodes    int      `json:"nodes"`
	Examples []string `json:"examples"`
}

// Obstacles asks every filter of an attempt about every node, and returns the reasons with their numbers of nodes: the reason of the
// most nodes first, reasons of equally many nodes in plugin order. The snapshot is the cluster of the attempt. A node counts for each
// of its reasons. There are no obstacles when the pod fits on every node.
//
// A plugin that rejects the pod before any node gives the only obstacle. When plugins name the only nodes, all other nodes have one
// reason, as in kube-scheduler's message.
//
// [placement.Plan.Table] says more about each node, and takes longer. O(nodes x filters).
func Obstacles(a *placement.Attempt, c *cluster.Snapshot) []Obstacle {
	x := obstacles{snapshot: c}
	order := c.Order()
	if a.Rejected() {
		x.all(a, order)
		return x.list
	}
	candidates := a.Candidates()
	for k := range a.Predicates {
		x.ask(a.Predicates[k:k+1], candidates)
	}
	x.outside(a.Pre.LeftOut(), order, candidates)
	slices.SortStableFunc(x.list, func(a, b Obstacle) int { return b.Nodes - a.Nodes })
	return x.list
}

// mostExamples is how many nodes an obstacle names.
const mostExamples = 3

// obstacles collects the obstacles of an attempt.
type obstacles struct {
	snapshot *cluster.Snapshot
	list     []Obstacle
}

// count counts a slot for an obstacle.
func (x *obstacles) count(o *Obstacle, slot int) {
	if o.Nodes++; o.Nodes <= mostExamples {
		o.Examples = append(o.Examples, x.snapshot.Node(slot).Name)
	}
}

// all adds the rejection of every node by plugins that look at no node.
func (x *obstacles) all(a *placement.Attempt, order []int32) {
	o := Obstacle{Reason: a.Pre.Message}
	if a.Pre.Err != nil {
		o.Reason = a.Pre.Err.Error()
	}
	if by := a.Pre.Rejecters(); len(by) == 1 {
		o.Plugin = by[0]
	}
	for _, slot := range order {
		x.count(&o, int(slot))
	}
	x.list = append(x.list, o)
}

// outside adds the reasons of the nodes that are no candidates. Both lists are in scan order.
func (x *obstacles) outside(reasons []string, order []int32, candidates []int) {
	for _, reason := range reasons {
		o := Obstacle{Reason: reason}
		left := candidates
		for _, slot := range order {
			if len(left) > 0 && left[0] == int(slot) {
				left = left[1:]
				continue
			}
			x.count(&o, int(slot))
		}
		x.list = append(x.list, o)
	}
}

// verdict has the places of the obstacles of a verdict.
type verdict struct {
	resources.Verdict
	reasons []int
	partial bool // another node may have other reasons
}

// ask adds the obstacles of one predicate. Nodes get few verdicts, and the texts of a verdict are made once.
func (x *obstacles) ask(p filter.Predicates, slots []int) {
	from := len(x.list)
	var known []verdict
	at := 0 // in known
	details, _ := p[0].(filter.Detailer)
	for _, slot := range slots {
		v := p[0].Check(slot)
		if v == 0 {
			continue
		}
		if at >= len(known) || known[at].Verdict != v { // neighbours are often alike
			if at = slices.IndexFunc(known, func(k verdict) bool { return k.Verdict == v }); at == -1 {
				at = len(known)
				known = append(known, verdict{Verdict: v, partial: details != nil && details.Partial(v)})
			}
		}
		k := &known[at]
		if k.reasons == nil || k.partial {
			k.reasons = x.places(p[0], from, p.Reasons(filter.Rejection{Verdict: v}, slot))
		}
		for _, place := range k.reasons {
			x.count(&x.list[place], slot)
		}
	}
}

// places returns the places of the reasons in the list, each once. The obstacles of the predicate are at from and behind.
func (x *obstacles) places(p filter.Predicate, from int, reasons []string) (out []int) {
	for _, reason := range reasons {
		at := from + slices.IndexFunc(x.list[from:], func(o Obstacle) bool { return o.Reason == reason })
		if at < from {
			at = len(x.list)
			x.list = append(x.list, Obstacle{Plugin: p.Name(), Reason: reason})
		}
		if !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	return out
}
