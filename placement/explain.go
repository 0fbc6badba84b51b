package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/score"
)

// Rejection is why one plugin rejects a pod on one node.
type Rejection struct {
	Plugin string `json:"plugin"`
	// Code is the name of the code: Unschedulable (removing pods may help) or UnschedulableAndUnresolvable.
	Code string `json:"code"`
	// Reasons are kube-scheduler's texts.
	Reasons []string `json:"reasons"`
	// Numbers say in words and figures how the reasons come about, where the plugin knows.
	Numbers []string `json:"numbers,omitempty"`
}

// NodeScore is what one plugin gives one node.
type NodeScore struct {
	Plugin     string `json:"plugin"`
	Raw        int64  `json:"raw"`
	Normalized int64  `json:"normalized"`
	Weight     int64  `json:"weight"`
	Weighted   int64  `json:"weighted"`
}

// NodeReport is all that the plugins say about one node.
type NodeReport struct {
	Node       string      `json:"node"`
	Slot       int         `json:"-"`
	Rejections []Rejection `json:"rejections,omitempty"`
	Scores     []NodeScore `json:"scores,omitempty"`
	Total      int64       `json:"total"`
}

// Feasible reports whether no plugin rejects the node.
func (n NodeReport) Feasible() bool { return len(n.Rejections) == 0 }

// Numberer is a predicate that can say in words and figures why it rejects slot i.
type Numberer interface {
	Numbers(i int) []string
}

// Fits asks every plugin whether the pod can go to one node and returns what rejects it, in plugin order; none when it
// fits.
func (p *Plan) Fits(pod *v1.Pod, slot int) []Rejection { return p.PrepareAll(pod).rejections(slot) }

// PrepareAll is Prepare for explanations: no plugin keeps the later ones from being asked.
func (p *Plan) PrepareAll(pod *v1.Pod) *Explained {
	e := &Explained{Attempt: Attempt{plan: p, pod: pod}}
	for _, plugin := range p.profile.Filters {
		f := plugin.Filter(pod, p.cluster)
		if f.Code != filter.Success && f.Code != filter.Skip {
			e.whole = append(e.whole, Rejection{Plugin: plugin.Name(), Code: f.Code.String(), Reasons: f.Reasons})
		}
		if f.Code == filter.Success && f.Predicate != nil {
			e.Predicates = append(e.Predicates, f.Predicate)
		}
	}
	return e
}

// Explained is a pod prepared for explanation.
type Explained struct {
	Attempt
	whole []Rejection // of plugins that reject the pod before any node
}

func (e *Explained) rejections(slot int) []Rejection {
	out := slices.Clone(e.whole)
	for _, r := range e.Predicates.AppendAll(nil, slot) {
		p := e.Predicates[r.Predicate]
		rejection := Rejection{Plugin: p.Name(), Code: e.Predicates.Code(r).String(), Reasons: e.Predicates.Reasons(r, slot)}
		if n, ok := p.(Numberer); ok {
			rejection.Numbers = n.Numbers(slot)
		}
		out = append(out, rejection)
	}
	return out
}

// Table asks every plugin about every node: all rejections, and the scores of each node that no plugin rejects, also when
// it is the only one. Nodes are sorted by name. The error is that of the scores. It costs about as much as all verdicts and
// scores without any of the short cuts; Decide costs nothing of it.
func (p *Plan) Table(pod *v1.Pod) ([]NodeReport, error) {
	e := p.PrepareAll(pod)
	order := p.order()
	out := make([]NodeReport, 0, len(order))
	for _, i := range order {
		out = append(out, NodeReport{Node: p.cluster.Node(i).Name, Slot: i, Rejections: e.rejections(i)})
	}
	slices.SortFunc(out, func(a, b NodeReport) int { return cmp.Compare(a.Node, b.Node) })
	err := e.score(out)
	return out, err
}

func (e *Explained) score(nodes []NodeReport) error {
	var feasible, at []int
	for k := range nodes {
		if nodes[k].Feasible() {
			feasible, at = append(feasible, nodes[k].Slot), append(at, k)
		}
	}
	if len(feasible) == 0 {
		return nil
	}
	columns, totals, err := e.Scores(feasible)
	if err != nil {
		return err
	}
	for j, k := range at {
		nodes[k].Total = totals[j]
		for _, c := range columns {
			nodes[k].Scores = append(nodes[k].Scores, NodeScore{c.Plugin, c.Raw[j], c.Scores[j], c.Weight, c.Scores[j] * c.Weight})
		}
	}
	return nil
}

// Choice explains why chosen, a slot, was taken among the feasible nodes.
func (p *Plan) Choice(pod *v1.Pod, chosen int) (score.Explanation, error) {
	a := p.PrepareAll(pod)
	var names []string
	var feasible []int
	at := -1
	for _, i := range p.order() {
		if len(a.rejections(i)) == 0 {
			if i == chosen {
				at = len(feasible)
			}
			feasible, names = append(feasible, i), append(names, p.cluster.Node(i).Name)
		}
	}
	if at < 0 {
		return score.Explanation{}, fmt.Errorf("slot %d is not feasible", chosen)
	}
	columns, _, err := a.Scores(feasible)
	if err != nil {
		return score.Explanation{}, err
	}
	return score.Explain(names, columns, nil, at)
}

// Numbers of the built-in predicates.

// Numbers names the resources with what is asked for, in use and there in all.
func (s fit) Numbers(i int) []string {
	var out []string
	for _, x := range s.Explain(i) {
		unit := ""
		if x.Resource == v1.ResourceCPU {
			unit = "m"
		}
		out = append(out, fmt.Sprintf("%s: asks for %d%s, %d%s of %d%s are in use", x.Resource, x.Requested, unit, x.Used, unit, x.Capacity, unit))
	}
	return out
}

// Numbers names the ports and the pods that hold them.
func (s ports) Numbers(i int) []string {
	var out []string
	for _, x := range s.Explain(i) {
		out = append(out, fmt.Sprintf("port %d: held by %s/%s", x.Want.Port, x.Holder.Namespace, x.Holder.Name))
	}
	return out
}

// Numbers names the taint that is not tolerated.
func (s tainted) Numbers(i int) []string { return []string{s.State.Explain(i).String()} }

// Numbers names the labels and terms that do not match.
func (s nodeAffinity) Numbers(i int) []string {
	x := s.Explain(i)
	var out []string
	if len(x.Missing) > 0 {
		out = append(out, "node selector: the node lacks "+strings.Join(x.Missing, ", "))
	}
	out = appendTerms(out, "profile term", x.Added)
	return appendTerms(out, "term", x.Terms)
}

func appendTerms(out []string, what string, terms []affinity.TermExplanation) []string {
	for k, t := range terms {
		switch {
		case t.Err != nil:
			out = append(out, fmt.Sprintf("%s %d never matches: %v", what, k+1, t.Err))
		case len(t.Failed) > 0:
			out = append(out, fmt.Sprintf("%s %d: does not hold: %s", what, k+1, strings.Join(t.Failed, ", ")))
		default:
			out = append(out, fmt.Sprintf("%s %d is empty and matches nothing", what, k+1))
		}
	}
	return out
}
