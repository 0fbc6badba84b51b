package diagnose

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose/near"
)

// ofLabels is the path of a change that adds a node with other labels than its model.
const ofLabels = "metadata.labels"

// otherLabels are labels that a node must get, and keys that it must lose, so that a pod selects it.
type otherLabels struct {
	with    map[string]string
	without []string
}

// lacks returns the labels with which a node like another one would be of the pod's pool. ok is false when no label does that, and when one
// of them looks like a typing error: nobody buys a node for it.
func (d *diagnosis) lacks(n *v1.Node) (out otherLabels, ok bool) {
	wishes, more := d.sought.wishes()
	if more > 0 {
		return out, false
	}
	out.with = map[string]string{}
	for _, w := range wishes {
		switch {
		case w.met(n):
		case w.name || w.r.Key == v1.LabelHostname:
			return out, false
		case w.r.Operator == v1.NodeSelectorOpIn && len(w.r.Values) > 0:
			if d.looksAlike(w.r.Key, w.r.Values) {
				return out, false
			}
			out.with[w.r.Key] = w.r.Values[0]
		case w.r.Operator == v1.NodeSelectorOpExists:
			if d.looksAlike(w.r.Key, nil) {
				return out, false
			}
			out.with[w.r.Key] = ""
		case w.r.Operator == v1.NodeSelectorOpDoesNotExist:
			out.without = append(out.without, w.r.Key)
		default:
			return out, false
		}
	}
	return out, len(out.with)+len(out.without) > 0
}

// looksAlike reports whether a label that a pod wants is nearly one that nodes have.
func (d *diagnosis) looksAlike(key string, values []string) bool {
	known := d.common.labelsOf(d.law.nodes)
	if len(known[key]) == 0 {
		return near.Key(key, slices.Collect(maps.Keys(known))) != ""
	}
	for has := range known[key] {
		if !slices.Contains(values, has) && slices.ContainsFunc(values, func(v string) bool { return near.Value(v, has) }) {
			return true
		}
	}
	return false
}

// text says how a node differs from its model: "with zone=c", "without spot".
func (o otherLabels) text() string {
	var with, out []string
	for _, key := range slices.Sorted(maps.Keys(o.with)) {
		with = append(with, labelText(key, o.with[key]))
	}
	if len(with) > 0 {
		out = append(out, "with "+joined(with))
	}
	if len(o.without) > 0 {
		out = append(out, "without "+joined(o.without))
	}
	return joined(out)
}

// elsewhere reports whether the pod's labels say only that the nodes are in another place than a model: they are of its pool.
func (d *diagnosis) elsewhere(model string) bool {
	other, _ := d.lacks(d.base.Node(d.base.Slot(model)))
	for key := range other.with {
		if !where(key) {
			return false
		}
	}
	return len(other.without) == 0
}

// labelled returns the change that adds a node like another one, but with the labels that no node has and the pod wants. nil when the cause
// is another one, and when labels do not help.
func (d *diagnosis) labelled(c *Change, like *v1.Node) *Change {
	remade := slices.ContainsFunc(d.changes, func(c *Change) bool { return c.Kind == Remake }) // the owner does not want the label
	if d.cause == nil || d.cause.Type != causeNoNode || remade {
		return nil
	}
	other, ok := d.lacks(like)
	if !ok {
		return nil
	}
	model := like.DeepCopy()
	for key, value := range other.with {
		setLabel(model, key, value)
	}
	for _, key := range other.without {
		delete(model.Labels, key)
	}
	own := *c
	own.Path, own.key = ofLabels, other.text()
	own.make = func(s *cluster.Snapshot, c *Change) { c.addNodes(s, model) }
	return &own
}

// nearest leaves the shapes that lack the fewest labels of the pod's pool, where no node is of the pool.
func (d *diagnosis) nearest(byShape map[string][]int) {
	if d.cause == nil || d.cause.Type != causeNoNode {
		return
	}
	far, least := map[string]int{}, -1
	for shape, list := range byShape {
		if other, ok := d.lacks(d.base.Node(list[0])); ok {
			far[shape] = len(other.with) + len(other.without)
			if least < 0 || far[shape] < least {
				least = far[shape]
			}
		}
	}
	if least >= 0 {
		maps.DeleteFunc(byShape, func(shape string, _ []int) bool { return far[shape] != least })
	}
}
