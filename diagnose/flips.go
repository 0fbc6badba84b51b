package diagnose

import (
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
)

// Flip is a single change with which another node is chosen.
type Flip struct {
	Kind   string `json:"kind"`   // "weight", "image", "label", "taint", "pod" or "request"
	Object string `json:"object"` // "Node n2", "Pod default/web", "Plugin ImageLocality"
	Text   string `json:"text"`   // the change in words
	// Weight is the plugin's weight for the kind weight, and 0 for the others.
	Weight int64 `json:"weight,omitempty"`

	change func(s *cluster.Snapshot, p *v1.Pod) // nil: nothing of the objects
}

// ApplyFlip makes the change of a flip in a snapshot and returns the changed pod. The pod stays as it is. A flip of the kind weight
// changes no object. A [Flip] of another kind that was read from JSON is an error. The other errors are those of [cluster.Snapshot.Set].
func ApplyFlip(s *cluster.Snapshot, pod *v1.Pod, f Flip) (changed *v1.Pod, err error) {
	defer must.Catch(&err)
	switch {
	case s == nil:
		return nil, errNoSnapshot
	case pod == nil:
		return nil, errors.New("diagnose: pod: Required value: must not be nil")
	case f.change == nil && f.Weight == 0:
		return nil, fmt.Errorf("diagnose: flip: Invalid value: %q: is no flip of a Comparison", f.Kind)
	}
	p := pod.DeepCopy()
	if f.change != nil {
		f.change(s, p)
	}
	return p, nil
}

// mostTried is the number of running pods of the other node whose leaving Compare tries.
const mostTried = 20

// try adds a flip if the decision with the flip chooses the other node.
func (d *diagnosis) try(c *Comparison, f Flip) {
	if c.Cut != "" || d.input.stopped() {
		c.Cut = "stop"
		return
	}
	s := d.base.Fork()
	p := must.Get(ApplyFlip(s, d.pod, f))
	profile := d.profileOver(s)
	profile.Scores = slices.Clone(profile.Scores)
	for k := range profile.Scores {
		if "Plugin "+profile.Scores[k].Name == f.Object {
			profile.Scores[k].Weight = f.Weight
		}
	}
	if must.Get(placement.New(s, profile)).Decide(p, placement.Options{}).Node == c.Other {
		c.Flips = append(c.Flips, f)
	}
}

// flips tries single changes of objects in favour of the other node.
func (d *diagnosis) flips(c *Comparison, slot int) {
	var list []Flip
	onNode := func(kind, text string, edit func(n *v1.Node)) {
		list = append(list, Flip{Kind: kind, Object: "Node " + c.Other, Text: text, change: func(s *cluster.Snapshot, _ *v1.Pod) { editNode(s, c.Other, edit) }})
	}
	n := d.base.Node(slot)
	images := d.base.Node(d.base.Slot(c.Chosen)).Status.Images
	for i := range d.pod.Spec.Containers {
		image := d.pod.Spec.Containers[i].Image
		for _, has := range images {
			if slices.Contains(has.Names, image) && !slices.ContainsFunc(n.Status.Images, func(x v1.ContainerImage) bool { return slices.Contains(x.Names, image) }) {
				onNode("image", "pull the image "+image, func(n *v1.Node) { n.Status.Images = append(n.Status.Images, has) })
			}
		}
	}
	if a := podinfo.NodeAffinity(d.pod); a != nil {
		for _, t := range a.PreferredDuringSchedulingIgnoredDuringExecution {
			for _, r := range t.Preference.MatchExpressions {
				if r.Operator == v1.NodeSelectorOpIn && len(r.Values) > 0 && !slices.Contains(r.Values, n.Labels[r.Key]) && d.law.label(n, r.Key, &r.Values[0], topologyKeys(d.pod)) == "" {
					onNode("label", "label "+r.Key+"="+r.Values[0], func(n *v1.Node) { setLabel(n, r.Key, r.Values[0]) })
				}
			}
		}
	}
	for _, t := range n.Spec.Taints {
		if t.Effect == v1.TaintEffectPreferNoSchedule && d.law.untaint(n, t) == "" {
			onNode("taint", "remove the taint "+t.ToString(), func(n *v1.Node) { dropTaint(n, t) })
		}
	}
	tried := 0
	for p := range d.base.Pods(slot) {
		if tried++; tried > mostTried {
			break
		}
		if fixed(p) {
			continue
		}
		list = append(list, d.away(c, p))
	}
	var requests []*Change
	requestChanges(d.pod, func(kind Kind, rule, path, from string, edit func(p *v1.Pod, v int64)) *Change {
		x := &Change{Kind: kind, Path: path, From: from, edit: edit}
		requests = append(requests, x)
		return x
	})
	for _, x := range requests {
		half := x.value.from / 2
		list = append(list, Flip{Kind: "request", Object: "Pod " + c.Pod, Text: fmt.Sprintf("%s from %s to %s", x.Path, x.From, x.value.show(half)), change: func(_ *cluster.Snapshot, p *v1.Pod) { x.edit(p, half) }})
	}
	for _, f := range list {
		d.try(c, f)
	}
}

// away returns the flip in which a running pod leaves the other node: it moves to the chosen node if it fits there.
func (d *diagnosis) away(c *Comparison, p *v1.Pod) Flip {
	f := Flip{Kind: "pod", Object: "Pod " + podinfo.Name(p), Text: "remove " + podinfo.Name(p) + " from " + c.Other, change: func(s *cluster.Snapshot, _ *v1.Pod) { takeAway(s, p) }}
	if usesDevices(p) {
		return f
	}
	s := d.base.Fork()
	must.Do(s.Remove(p))
	plan := must.Get(placement.New(s, d.profileOver(s)))
	if len(plan.Rejections(unplaced(p), s.Slot(c.Chosen))) > 0 {
		return f
	}
	f.Text = fmt.Sprintf("move %s from %s to %s", podinfo.Name(p), c.Other, c.Chosen)
	f.change = func(s *cluster.Snapshot, _ *v1.Pod) { move(s, p, c.Chosen) }
	return f
}
