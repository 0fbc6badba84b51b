// Package explain (experimental) turns what the plugins say about every node into an answer of a few lines: what keeps a pod out, grouped
// over the nodes, and which nodes are nearest.
//
//	table, err := plan.Table(pod)
//	…
//	answer := explain.Of(table, explain.Shortage(pod, snapshot))
//	for _, line := range answer.Lines() {
//		fmt.Println(line)
//	}
//
// The texts are podberth's own, beside the reasons, which are kube-scheduler's. The functions hold no state and do not
// change their arguments. They may be called at the same time. The cost is O(nodes log nodes).
package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
)

// Answer says what keeps a pod off nodes. Its lists are never nil.
type Answer struct {
	// What keeps the pod off nodes, the reason of most nodes first; a node with several reasons counts for each.
	Obstacles []Obstacle `json:"obstacles"`
	Nearest   []Near     `json:"nearest"` // up to three rejected nodes, the nearest first
	// At most three remedies, the cheapest smallest sets of changes that place the pod, or place it where --where wants it
	// ("diagnose"); none without a proof.
	Help []string `json:"help"`
}

// Obstacle is one reason that keeps a pod off some nodes.
type Obstacle struct {
	Plugin string `json:"plugin"`
	Reason string `json:"reason"` // kube-scheduler's text
	// The numbers in words; of nodes whose devices are held by different claims the claims of the nearest node.
	Detail  string `json:"detail"`
	Example string `json:"example"` // the node of the detail, the nearest; "" when the detail holds for all
	Nodes   int    `json:"nodes"`   // how many nodes
}

// Near is a node that rejects the pod.
type Near struct {
	Node    string   `json:"node"`
	Plugins []string `json:"plugins"` // the plugins that reject
}

// mostNear is how many nearest nodes an answer has.
const mostNear = 3

// Of returns the answer for the nodes of a table. shortage measures how much a node lacks; nil measures nothing.
func Of(table []placement.NodeReport, shortage func(node string) float64) Answer {
	a := Answer{Obstacles: []Obstacle{}, Nearest: []Near{}, Help: []string{}}
	rejected := slices.DeleteFunc(Order(table, shortage), placement.NodeReport.Feasible)
	a.Obstacles = append(a.Obstacles, obstacles(rejected)...)
	for _, n := range rejected[:min(mostNear, len(rejected))] {
		near := Near{Node: n.Node}
		for _, r := range n.Rejections {
			near.Plugins = append(near.Plugins, r.Plugin)
		}
		a.Nearest = append(a.Nearest, near)
	}
	return a
}

// Order returns the nodes of a table from the best to the farthest:
//
//  1. nodes that can take the pod, by total score, the highest first,
//  2. fewer plugins that reject,
//  3. the smaller shortage; nil counts as equal,
//  4. by name.
func Order(table []placement.NodeReport, shortage func(node string) float64) []placement.NodeReport {
	out := slices.Clone(table)
	lack := make(map[string]float64, len(table))
	if shortage != nil {
		for _, n := range table {
			if !n.Feasible() {
				lack[n.Node] = shortage(n.Node)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b placement.NodeReport) int {
		return cmp.Or(cmp.Compare(len(a.Rejections), len(b.Rejections)), cmp.Compare(b.Total, a.Total), cmp.Compare(lack[a.Node], lack[b.Node]), strings.Compare(a.Node, b.Node))
	})
	return out
}

// Cluster is what Shortage reads. A *cluster.Snapshot implements it.
type Cluster interface {
	filter.Rows
	Slot(node string) int
}

// Shortage returns a measure of what a node lacks for a pod: for every resource of which too little is free, the missing
// share of the request, added up. A node that lacks nothing has 0.
func Shortage(pod *v1.Pod, c Cluster) func(node string) float64 {
	state := filter.CompileFit(pod, filter.FitOptions{}).On(c)
	return func(node string) float64 {
		sum := 0.0
		for _, x := range state.Explain(c.Slot(node)) {
			sum += float64(x.Requested-(x.Capacity-x.Used)) / float64(max(x.Requested, 1))
		}
		return sum
	}
}

// obstacles groups what rejects the nodes, which are in order.
func obstacles(nodes []placement.NodeReport) []Obstacle {
	type reason struct{ plugin, text string }
	type detail struct {
		Obstacle
		kind  string // the detail without the names of claims that hold devices
		alike bool   // all nodes have these words
	}
	type group struct {
		nodes   int
		details []detail // by the order in which they come up
		taints  tally
	}
	groups, order := map[reason]*group{}, []reason(nil)
	for _, n := range nodes {
		counted := map[reason]bool{}
		for _, r := range n.Rejections {
			for _, line := range reasonLines(r) {
				k := reason{r.Plugin, line.reason}
				g := groups[k]
				if g == nil {
					g = &group{}
					groups[k], order = g, append(order, k)
				}
				if !counted[k] {
					counted[k] = true
					g.nodes++
				}
				if r.Plugin == ofTaints {
					g.taints.add(line.detail, n.Node)
				}
				kind := devices.WithoutHolders(line.detail)
				at := slices.IndexFunc(g.details, func(o detail) bool { return o.kind == kind })
				if at >= 0 {
					g.details[at].Nodes++
					g.details[at].alike = g.details[at].alike && g.details[at].Detail == line.detail
				} else if len(g.details) <= mostDetails {
					g.details = append(g.details, detail{Obstacle{r.Plugin, line.reason, line.detail, n.Node, 1}, kind, true})
				}
			}
		}
	}
	var out []Obstacle
	for _, k := range order {
		g := groups[k]
		if len(g.details) > mostDetails {
			first := g.details[0].Obstacle
			first.Nodes = g.nodes
			if k.plugin == ofTaints {
				first.Detail, first.Example = g.taints.String(), ""
			}
			out = append(out, first)
			continue
		}
		for _, o := range g.details {
			if o.alike {
				o.Example = ""
			}
			out = append(out, o.Obstacle)
		}
	}
	slices.SortStableFunc(out, func(a, b Obstacle) int { return b.Nodes - a.Nodes })
	return out
}

// mostDetails is how many different details of a reason are printed. When a reason has more details, only the detail of the
// nearest node is printed; taints are counted.
const mostDetails = 3

type reasonLine struct{ reason, detail string }

// reasonLines pairs the reasons of a rejection with its numbers.
func reasonLines(r placement.Rejection) []reasonLine {
	var out []reasonLine
	if len(r.Numbers) == len(r.Reasons) {
		for k, text := range r.Reasons {
			out = append(out, reasonLine{text, r.Numbers[k]})
		}
		return out
	}
	reason := strings.Join(r.Reasons, ", ")
	for _, text := range r.Numbers {
		out = append(out, reasonLine{reason, text})
	}
	if len(out) == 0 {
		out = append(out, reasonLine{reason, ""})
	}
	return out
}

// String returns the obstacle in words, without the number of nodes.
func (o Obstacle) String() string {
	switch {
	case o.Detail == "":
		return fmt.Sprintf("%s (%s)", o.Reason, o.Plugin)
	case o.Example == "":
		return fmt.Sprintf("%s: %s (%s)", o.Reason, o.Detail, o.Plugin)
	}
	return fmt.Sprintf("%s: on %s %s (%s)", o.Reason, o.Example, o.Detail, o.Plugin)
}

// mostObstacles is how many lines Lines has for the obstacles.
const mostObstacles = 4

// Lines returns what rejects the pod, in at most five lines, without Help; none when no node rejects the pod.
func (a Answer) Lines() []string {
	var out []string
	for k, o := range a.Obstacles {
		if k == mostObstacles-1 && len(a.Obstacles) > mostObstacles {
			out = append(out, fmt.Sprintf("  and %d more reasons", len(a.Obstacles)-k))
			break
		}
		nodes := "nodes"
		if o.Nodes == 1 {
			nodes = "node"
		}
		out = append(out, fmt.Sprintf("  %d %s: %s", o.Nodes, nodes, o))
	}
	if len(a.Nearest) > 0 {
		var near []string
		for _, n := range a.Nearest {
			near = append(near, fmt.Sprintf("%s (%s)", n.Node, strings.Join(n.Plugins, ", ")))
		}
		out = append(out, "Nearest: "+strings.Join(near, ", "))
	}
	return out
}
