package placement

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/score"
)

// Rejection is why one plugin rejects a pod on one node.
type Rejection struct {
	Plugin string `json:"plugin"`
	// Code is the name of the code: Unschedulable (to remove pods may help) or UnschedulableAndUnresolvable.
	Code string `json:"code"`
	// Reasons are kube-scheduler's texts.
	Reasons []string `json:"reasons"`
	// Numbers explain the reasons in words and figures. Empty when the plugin has no such text.
	Numbers []string `json:"numbers,omitempty"`
}

// NodeScore is what one score plugin gives one node.
type NodeScore struct {
	Plugin     string `json:"plugin"`
	Raw        int64  `json:"raw"`        // the plugin's score
	Normalized int64  `json:"normalized"` // the score after normalization, 0 to 100
	Weight     int64  `json:"weight"`     // the plugin's weight
	Weighted   int64  `json:"weighted"`   // normalized times weight
}

// NodeReport is what all plugins say about one node.
type NodeReport struct {
	Node string `json:"node"`
	// The plugins that reject the node, in plugin order; absent when no plugin rejects.
	Rejections []Rejection `json:"rejections,omitempty"`
	Scores     []NodeScore `json:"scores,omitempty"` // the scores of a node that no plugin rejects, in plugin order
	Total      int64       `json:"total"`            // the sum of the weighted scores
}

// Feasible reports whether no filter rejects the node.
func (n NodeReport) Feasible() bool { return len(n.Rejections) == 0 }

// Rejections asks every filter about one node and returns what rejects the pod there, in plugin order; none when the pod
// fits. The slot must be 0 to Len()-1 of the cluster. For many nodes Table is cheaper.
func (p *Plan) Rejections(pod *v1.Pod, slot int) []Rejection {
	return p.prepareAll(pod).rejections(slot)
}

// prepareAll is Prepare for explanations: every plugin is asked, also after a rejection.
func (p *Plan) prepareAll(pod *v1.Pod) *explained {
	e := &explained{Attempt: Attempt{plan: p, pod: pod}, texts: map[filter.Rejection]Rejection{}}
	for _, plugin := range p.profile.Filters {
		f := plugin.Filter(pod, p.cluster)
		if f.Code != filter.Success && f.Code != filter.Skip {
			e.early = append(e.early, early{len(e.Predicates), Rejection{Plugin: plugin.Name, Code: f.Code.String(), Reasons: f.Reasons}})
		}
		if f.Code == filter.Success && f.Predicate != nil {
			e.Predicates = append(e.Predicates, f.Predicate)
		}
	}
	return e
}

// explained is a pod prepared for explanation.
type explained struct {
	Attempt
	early []early
	texts map[filter.Rejection]Rejection // without Numbers, of verdicts that name all their reasons

	found []filter.Rejection // scratch
	slab  []Rejection        // room for the rejections of the next nodes
}

// early is the rejection by a plugin before any node.
type early struct {
	before int // how many predicates are asked before this predicate
	Rejection
}

// rejections returns what rejects the pod on a slot, in plugin order; none when the pod fits. Equal verdicts share their
// texts.
func (e *explained) rejections(slot int) []Rejection {
	e.found = e.found[:0]
	for k, p := range e.Predicates {
		if v := p.Check(slot); v != 0 {
			e.found = append(e.found, filter.Rejection{Predicate: uint16(k), Verdict: v})
		}
	}
	n := len(e.early) + len(e.found)
	if n == 0 {
		return nil
	}
	if cap(e.slab)-len(e.slab) < n {
		e.slab = make([]Rejection, 0, max(n, 256))
	}
	begin, next := len(e.slab), 0
	for _, w := range e.early {
		for ; next < len(e.found) && int(e.found[next].Predicate) < w.before; next++ {
			e.slab = append(e.slab, e.text(e.found[next], slot))
		}
		e.slab = append(e.slab, w.Rejection)
	}
	for ; next < len(e.found); next++ {
		e.slab = append(e.slab, e.text(e.found[next], slot))
	}
	return e.slab[begin:len(e.slab):len(e.slab)]
}

// text puts a rejection into words.
func (e *explained) text(r filter.Rejection, slot int) Rejection {
	p := e.Predicates[r.Predicate]
	out, ok := e.texts[r]
	if !ok {
		out = Rejection{Plugin: p.Name(), Code: e.Predicates.Code(r).String(), Reasons: e.Predicates.Reasons(r, slot)}
		if d, is := p.(filter.Detailer); !is || !d.Partial(r.Verdict) {
			e.texts[r] = out
		}
	}
	if n, ok := p.(interface{ Numbers(i int) []string }); ok { // words and figures of the predicate
		out.Numbers = n.Numbers(slot)
	}
	return out
}

// Table asks every plugin about every node. It returns all rejections, and the scores of each node that no filter rejects,
// even when only one node is feasible. The nodes are sorted by name. The error is that of the scores. O(nodes x plugins).
func (p *Plan) Table(pod *v1.Pod) ([]NodeReport, error) {
	e := p.prepareAll(pod)
	slots := p.byName()
	out := make([]NodeReport, len(slots))
	feasible, at := make([]int, 0, len(slots)), make([]int, 0, len(slots))
	for k, i := range slots {
		out[k] = NodeReport{Node: p.cluster.Node(i).Name, Rejections: e.rejections(i)}
		if out[k].Feasible() {
			feasible, at = append(feasible, i), append(at, k)
		}
	}
	if len(feasible) == 0 {
		return out, nil
	}
	columns, totals, err := e.Scores(feasible)
	if err != nil {
		return out, err
	}
	scores := make([]NodeScore, len(feasible)*len(columns))
	for j, k := range at {
		own := scores[j*len(columns) : (j+1)*len(columns) : (j+1)*len(columns)]
		for x := range columns {
			c := &columns[x]
			own[x] = NodeScore{c.Plugin, c.Raw[j], c.Scores[j], c.Weight, c.Scores[j] * c.Weight}
		}
		out[k].Total, out[k].Scores = totals[j], own
	}
	return out, nil
}

// byName returns the slots of all nodes by name. Callers must not change the slice.
func (p *Plan) byName() []int {
	order := p.order()
	if len(order) == 0 {
		return nil
	}
	if len(p.named) != len(order) || &order[0] != &p.namedOf[0] {
		p.namedOf, p.named = order, slices.Clone(order)
		slices.SortFunc(p.named, func(a, b int) int { return strings.Compare(p.cluster.Node(a).Name, p.cluster.Node(b).Name) })
	}
	return p.named
}

// Choice explains why a slot was chosen among the feasible nodes. The error is [ErrNotFeasible] for a slot where a filter rejects
// the pod and for a slot without a node, or the error is that of a score.
func (p *Plan) Choice(pod *v1.Pod, chosen int) (score.Explanation, error) {
	a := p.prepareAll(pod)
	var names []string
	var feasible []int
	for _, i := range p.order() {
		if len(a.rejections(i)) == 0 {
			feasible, names = append(feasible, i), append(names, p.cluster.Node(i).Name)
		}
	}
	at := slices.Index(feasible, chosen)
	if at < 0 {
		return score.Explanation{}, fmt.Errorf("slot %d: %w", chosen, ErrNotFeasible)
	}
	columns, _, err := a.Scores(feasible)
	if err != nil {
		return score.Explanation{}, err
	}
	return score.Explain(names, columns, nil, at)
}
