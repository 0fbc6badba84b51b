package diagnose

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose/near"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
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

// ofSize is the path of a change that adds a larger node than its model.
const ofSize = "status.allocatable"

// otherModel returns the change that adds a node like another one, but with what the pod wants and no node has: labels, a size, no taint of a
// pool that the pod is not meant for. closed says that the best model has such a taint, large that no model is large enough. alone says that the
// node as it is does not help. The change is nil when nothing must differ.
func (d *diagnosis) otherModel(c *Change, like *v1.Node, closed, large bool) (other *Change, alone bool) {
	if d.cause == nil {
		return nil, false
	}
	own, model := *c, like.DeepCopy()
	own.ofPool = false
	var with, without []string
	if large {
		if more := d.larger(model); more != "" {
			own.Path, with, own.Least = ofSize, []string{more}, map[v1.ResourceName]string{}
			for name, q := range model.Status.Allocatable {
				if has := like.Status.Allocatable[name]; has.Cmp(q) != 0 {
					own.Least[name] = q.String()
				}
			}
		}
	}
	if closed {
		for _, t := range like.Spec.Taints {
			if d.stays(like, t) {
				dropTaint(model, t)
				delete(model.Status.Allocatable, v1.ResourceName(t.Key)) // the pod does not ask for it
				own.Without = append(own.Without, t.ToString())
				own.Path, without, alone = ofTaints, append(without, "the taint "+strings.TrimSuffix(t.ToString(), ":"+string(t.Effect))), true
			}
		}
	}
	remade := slices.ContainsFunc(d.changes, func(c *Change) bool { return c.Kind == Remake }) // the owner does not want the label
	if d.cause.Type == causeNoNode && !remade {
		if labels, ok := d.lacks(like); ok {
			own.ofPool = own.Path == "" && len(labels.without) == 0
			own.Path, alone = ofLabels, true
			own.Labels, own.Without = labels.with, append(own.Without, labels.without...)
			for _, key := range slices.Backward(slices.Sorted(maps.Keys(labels.with))) {
				own.ofPool = own.ofPool && where(key)
				setLabel(model, key, labels.with[key])
				with = slices.Insert(with, 0, labelText(key, labels.with[key]))
			}
			for _, key := range labels.without {
				delete(model.Labels, key)
				without = append(without, key)
			}
		}
	}
	if own.Path == "" {
		return nil, false
	}
	var text []string
	if len(with) > 0 {
		text = append(text, "with "+joined(with))
	}
	if len(without) > 0 {
		text = append(text, "without "+joined(without))
	}
	own.key = joined(text)
	own.make = func(s *cluster.Snapshot, c *Change) { c.addNodes(s, model) }
	return &own, alone
}

// mayTolerate reports whether advice may name a toleration of the pod without a risk.
func (d *diagnosis) mayTolerate() bool {
	return slices.ContainsFunc(d.changes, func(c *Change) bool { return c.Kind == Tolerate && c.why == "" && c.Note == "" })
}

// stays reports whether a node like another one has a taint of it that keeps the pod off.
func (d *diagnosis) stays(n *v1.Node, t v1.Taint) bool { return !passes(n, t) && d.keepsOff(t) }

// tooLarge reports whether the pod asks for more than each of some nodes has.
func (d *diagnosis) tooLarge(shapes [][]int) bool {
	if d.cause == nil || d.sought == nil || len(shapes) == 0 {
		return false
	}
	return d.cause.Type == causeTooLarge || !slices.ContainsFunc(shapes, func(list []int) bool { return d.larger(d.base.Node(list[0]).DeepCopy()) == "" })
}

// larger gives a model at least what the pod asks for beside the pods that DaemonSets put there, and says what that is: "cpu 5, memory 9Gi or
// more". It is "" when the model has as much. A resource that the model does not offer is none of size.
func (d *diagnosis) larger(model *v1.Node) string {
	least := v1.ResourceList{}
	var names []string
	overhead.Each(d.pod, overhead.Options{}, func(name v1.ResourceName, total int64) {
		has := resources.Value(name, model.Status.Allocatable[name])
		if total <= 0 || has == 0 && d.cause.Type != causeTooLarge {
			return
		}
		if total += d.sought.daemons(name, d.base.Slot(model.Name)); total > has {
			least[name] = quantity(name, total)
			names = append(names, string(name)+" "+amount(name, total))
		}
	})
	if len(names) == 0 {
		return ""
	}
	if model.Status.Allocatable == nil { // a node that has not reported yet
		model.Status.Allocatable = v1.ResourceList{}
	}
	maps.Copy(model.Status.Allocatable, least)
	model.Status.Capacity = nil
	slices.Sort(names)
	return strings.Join(names, ", ") + " or more"
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
