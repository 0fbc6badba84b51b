package diagnose

import (
	"fmt"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
)

// Comparison says why a pod goes to one node and not to another.
type Comparison struct {
	Pod string `json:"pod"`
	// Chosen is the node of the decision, and Other the node that the caller asks about. Both can take the pod.
	Chosen      string      `json:"chosen"`
	Other       string      `json:"other"`
	ChosenTotal int64       `json:"chosenTotal"`
	OtherTotal  int64       `json:"otherTotal"`
	Parts       []ScorePart `json:"parts"` // in plugin order
	// Flips are single changes of objects with which the decision chooses Other.
	Flips []Flip `json:"flips"`
}

// ScorePart is what one score plugin gives two nodes.
type ScorePart struct {
	Plugin string `json:"plugin"`
	Weight int64  `json:"weight"`
	Chosen int64  `json:"chosen"` // normalized, 0 to 100
	Other  int64  `json:"other"`
	// Least and Most are the weights, of at least 1, with which the decision still chooses the same node when every other weight
	// stays. Most is -1 without an upper end.
	Least int64 `json:"least"`
	Most  int64 `json:"most"`
}

// Flip is a change of an object with which another node is chosen.
type Flip struct {
	Kind   string `json:"kind"` // "image", "label", "taint", "request" or "pod"
	Object string `json:"object"`
	Text   string `json:"text"`
}

// mostTried is the number of running pods of the other node whose leaving Compare tries.
const mostTried = 20

// Compare says why the decision about a pod chooses its node and not another one, by how much each weight may move before the
// decision changes, and which single changes let it choose the other node: an image there, the label of a preferred term, a taint
// PreferNoSchedule less, a pod less, a smaller request. Every flip is decided again. The errors are those of Relax, and errors for
// a pod without a node and for another node that is the chosen one, does not exist or rejects the pod. O(changes) decisions.
func Compare(in Input, pod *v1.Pod, other string) (*Comparison, error) {
	d, err := begin(in, pod, Options{})
	if err != nil {
		return nil, err
	}
	plan, err := placement.New(d.base, d.profile)
	if err != nil {
		return nil, err
	}
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
	table, err := plan.Table(d.pod)
	if err != nil {
		return nil, err
	}
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
		p.Least, p.Most = d.bounds(table, chosen, k)
		c.Parts = append(c.Parts, p)
	}
	return c, d.flips(c, slot)
}

// bounds returns the weights of plugin k with which the chosen node stays ahead of every other feasible node.
func (d *diagnosis) bounds(table []placement.NodeReport, chosen *placement.NodeReport, k int) (least, most int64) {
	least, most = 1, math.MaxInt64
	mine := chosen.Scores[k]
	for i := range table {
		n := &table[i]
		if n == chosen || !n.Feasible() {
			continue
		}
		need := int64(0) // the lead that the chosen node needs
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
		}
	}
	if most == math.MaxInt64 {
		most = -1
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

// flips tries single changes in favour of the other node.
func (d *diagnosis) flips(c *Comparison, slot int) error {
	try := func(kind, object, text string, change func(s *cluster.Snapshot, p *v1.Pod) error) error {
		s, p := d.base.Fork(), d.pod.DeepCopy()
		if err := change(s, p); err != nil {
			return err
		}
		plan, err := placement.New(s, d.profile)
		if err != nil {
			return err
		}
		if plan.Decide(p, placement.Options{}).Node == c.Other {
			c.Flips = append(c.Flips, Flip{kind, object, text})
		}
		return nil
	}
	node := "Node " + c.Other
	onNode := func(kind, text string, edit func(n *v1.Node)) error {
		return try(kind, node, text, func(s *cluster.Snapshot, _ *v1.Pod) error { return editNode(s, c.Other, edit) })
	}
	n := d.base.Node(slot)
	images := d.base.Node(d.base.Slot(c.Chosen)).Status.Images
	for i := range d.pod.Spec.Containers {
		image := d.pod.Spec.Containers[i].Image
		for _, has := range images {
			if slices.Contains(has.Names, image) && !slices.ContainsFunc(n.Status.Images, func(x v1.ContainerImage) bool { return slices.Contains(x.Names, image) }) {
				if err := onNode("image", "pull the image "+image, func(n *v1.Node) { n.Status.Images = append(n.Status.Images, has) }); err != nil {
					return err
				}
			}
		}
	}
	if a := podinfo.NodeAffinity(d.pod); a != nil {
		for _, t := range a.PreferredDuringSchedulingIgnoredDuringExecution {
			for _, r := range t.Preference.MatchExpressions {
				if r.Operator == v1.NodeSelectorOpIn && len(r.Values) > 0 && !slices.Contains(r.Values, n.Labels[r.Key]) {
					if err := onNode("label", "label "+r.Key+"="+r.Values[0], func(n *v1.Node) { setLabel(n, r.Key, r.Values[0]) }); err != nil {
						return err
					}
				}
			}
		}
	}
	for _, t := range n.Spec.Taints {
		if t.Effect == v1.TaintEffectPreferNoSchedule {
			if err := onNode("taint", "remove the taint "+t.ToString(), func(n *v1.Node) { dropTaint(n, t) }); err != nil {
				return err
			}
		}
	}
	tried := 0
	for p := range d.base.Pods(slot) {
		if tried++; tried > mostTried {
			break
		}
		if err := try("pod", "Pod "+podinfo.Name(p), "move "+podinfo.Name(p)+" away from "+c.Other, func(s *cluster.Snapshot, _ *v1.Pod) error { return s.Unset(p) }); err != nil {
			return err
		}
	}
	var requests []*Change
	requestChanges(d.pod, func(kind Kind, rule, path, from string, edit func(p *v1.Pod, v int64)) *Change {
		x := &Change{Kind: kind, Path: path, From: from, edit: edit}
		requests = append(requests, x)
		return x
	})
	for _, x := range requests {
		half := x.value.from / 2
		if err := try("request", "Pod "+c.Pod, fmt.Sprintf("%s from %s to %s", x.Path, x.From, x.value.show(half)), func(_ *cluster.Snapshot, p *v1.Pod) error {
			x.edit(p, half)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
