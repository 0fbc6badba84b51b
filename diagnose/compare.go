package diagnose

import (
	"fmt"
	"math"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
)

// Comparison says why a pod goes to one node and not to another.
type Comparison struct {
	Pod string `json:"pod"`
	// Chosen is the node of the decision.
	Chosen      string      `json:"chosen"`
	Other       string      `json:"other"`       // the node that the caller asks about; it can take the pod too
	ChosenTotal int64       `json:"chosenTotal"` // the total of the node of the decision
	OtherTotal  int64       `json:"otherTotal"`  // the total of the other node
	Parts       []ScorePart `json:"parts"`       // in plugin order
	// Flips are single changes with which the decision chooses Other: weights first, then objects.
	Flips []Flip `json:"flips"`
	// Cut is "stop" when the caller has ended the search: there may be more flips.
	Cut string `json:"cut,omitempty"`
}

// ScorePart is what one score plugin gives two nodes.
type ScorePart struct {
	Plugin string `json:"plugin"`
	Weight int64  `json:"weight"` // its weight
	Chosen int64  `json:"chosen"` // normalized, 0 to 100
	Other  int64  `json:"other"`  // normalized score of the other node
	// Least is the smallest weight, of at least 1, with which the decision still chooses the same node when every other weight stays.
	Least int64 `json:"least"`
	Most  int64 `json:"most"` // the largest such weight; -1 without an upper end
}

// Compare says why the decision about a pod chooses its node and not another one, by how much each weight may move before the
// decision changes, and which single changes let it choose the other node: another weight, an image there, the label of a preferred
// term, a taint PreferNoSchedule less, a pod that moves away, another request. Every flip is decided again. The errors are those of
// [Relax], and errors for a pod without a node and for another node that is the chosen one, does not exist or rejects the pod.
// The nomination of the pod does not count: a pod that goes to its nominated node goes there without scores.
// [Input.Stop] is asked before each flip. O(changes) decisions.
func Compare(in Input, pod *v1.Pod, other string) (_ *Comparison, err error) {
	defer must.Catch(&err)
	d := must.Get(begin(in, pod, Options{}))
	d.pod.Status.NominatedNodeName = ""
	plan := must.Get(placement.New(d.base, d.profileOver(d.base)))
	dec := plan.Decide(d.pod, placement.Options{})
	slot := d.base.Slot(other)
	switch {
	case !dec.Placed():
		return nil, fmt.Errorf("diagnose: pod %s: has no node: %s", podinfo.Name(pod), dec.Failure.Text())
	case slot < 0:
		return nil, fmt.Errorf("diagnose: other: Not found: %q: no such node in the cluster", other)
	case other == dec.Node:
		return nil, fmt.Errorf("diagnose: other: Invalid value: %q: is the node of the decision", other)
	}
	table := must.Get(plan.Table(d.pod))
	var chosen, second *placement.NodeReport
	for i := range table {
		switch table[i].Node {
		case dec.Node:
			chosen = &table[i]
		case other:
			second = &table[i]
		}
	}
	if !second.Feasible() {
		return nil, fmt.Errorf("diagnose: other: Invalid value: %q: %s rejects the pod", other, second.Rejections[0].Plugin)
	}
	c := &Comparison{Pod: podinfo.Name(pod), Chosen: dec.Node, Other: other, ChosenTotal: chosen.Total, OtherTotal: second.Total, Parts: []ScorePart{}, Flips: []Flip{}}
	for k, s := range chosen.Scores {
		p := ScorePart{Plugin: s.Plugin, Weight: s.Weight, Chosen: s.Normalized, Other: second.Scores[k].Normalized}
		if p.Least, p.Most = d.bounds(table, chosen, k); p.Most == math.MaxInt64 {
			p.Most = -1
		}
		c.Parts = append(c.Parts, p)
	}
	for k, p := range c.Parts {
		least, most := d.bounds(table, second, k)
		if least > most {
			continue // no weight of this plugin alone is enough
		}
		to := min(max(p.Weight, least), most)
		d.try(c, Flip{Kind: "weight", Object: "Plugin " + p.Plugin, Text: fmt.Sprintf("weight of %s from %d to %d", p.Plugin, p.Weight, to), Weight: to})
	}
	d.flips(c, slot)
	return c, nil
}

// bounds returns the weights of plugin k with which a node is ahead of every other feasible node: from least to most, none when
// least is larger. most is math.MaxInt64 without an upper end.
func (d *diagnosis) bounds(table []placement.NodeReport, chosen *placement.NodeReport, k int) (least, most int64) {
	least, most = 1, math.MaxInt64
	mine := chosen.Scores[k]
	for i := range table {
		n := &table[i]
		if n == chosen || !n.Feasible() {
			continue
		}
		need := int64(0) // the lead that the node needs
		if d.rank[d.base.Slot(n.Node)] < d.rank[d.base.Slot(chosen.Node)] {
			need = 1
		}
		gain := mine.Normalized - n.Scores[k].Normalized
		rest := chosen.Total - n.Total - mine.Weight*gain // the lead without the plugin
		switch {                                          // rest + weight x gain >= need
		case gain > 0:
			least = max(least, ceilDiv(need-rest, gain))
		case gain < 0:
			most = min(most, floorDiv(rest-need, -gain))
		case rest < need:
			return 1, 0
		}
	}
	return least, most
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func ceilDiv(a, b int64) int64 { return -floorDiv(-a, b) }
