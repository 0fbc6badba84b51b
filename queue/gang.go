package queue

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/podgroup"
)

// Kinds of groups, and the plugin that waits for them.
const (
	podGroup          = "scheduling.k8s.io/PodGroup"
	compositePodGroup = "scheduling.k8s.io/CompositePodGroup"
	pluginGang        = "GangScheduling"
)

// Gate returns the gate of the plugin GangScheduling: members wait until enough pods of their group are known (PG2.5). It costs as much
// as [podgroup.TreeOf].
func (g *GroupOptions) Gate() Gate {
	return Gate{Name: pluginGang, Check: func(pod *v1.Pod) GateVerdict {
		group, ok := podgroup.Of(pod)
		if !ok {
			return GateVerdict{}
		}
		tree, err := podgroup.TreeOf(g.Objects, pod.Namespace, group, g.Gates)
		if err != nil {
			return GateVerdict{Err: err}
		}
		text := tree.GateText(g.Known, g.Gates)
		return GateVerdict{Refuse: text != "", Message: text}
	}}
}

// Events returns the registrations of the plugin GangScheduling: a member waits for pods of its group, for its group and for a smaller
// minimum (PG2.12). With the gate Composites the whole tree counts as its group.
func (g *GroupOptions) Events() []Registration {
	samePods := func(pod *v1.Pod, _, new any) (bool, error) {
		added, _ := new.(*v1.Pod)
		if added == nil {
			return true, nil
		}
		group, ok := podgroup.Of(added)
		return ok && g.same(pod, added.Namespace, group), nil
	}
	added := func(pod *v1.Pod, _, new any) (bool, error) {
		x, _ := new.(*podgroup.Group)
		return x == nil || g.same(pod, x.Namespace, x.Name), nil
	}
	smaller := func(pod *v1.Pod, old, new any) (bool, error) {
		a, _ := old.(*podgroup.Group)
		b, _ := new.(*podgroup.Group)
		if a == nil || b == nil {
			return true, nil
		}
		return g.same(pod, b.Namespace, b.Name) && a.Minimum != nil && b.Minimum != nil && *b.Minimum < *a.Minimum, nil
	}
	out := []Registration{
		{pluginGang, Event{Resource: unscheduledPod, Action: Add}, samePods},
		{pluginGang, Event{Resource: assignedPod, Action: Add}, samePods},
		{pluginGang, Event{Resource: podGroup, Action: Add}, added},
		{pluginGang, Event{Resource: podGroup, Action: Update}, smaller},
	}
	if g.Gates.Composites {
		out = append(out, Registration{pluginGang, Event{Resource: compositePodGroup, Action: Add}, func(pod *v1.Pod, _, new any) (bool, error) {
			x, _ := new.(*podgroup.Composite)
			return x == nil || g.below(pod, x), nil
		}})
	}
	return out
}

// same reports whether a group is that of the pod, or one of the same tree with the gate Composites.
func (g *GroupOptions) same(pod *v1.Pod, namespace, group string) bool {
	own, ok := podgroup.Of(pod)
	if !ok || pod.Namespace != namespace {
		return false
	}
	if own == group || !g.Gates.Composites {
		return own == group
	}
	a, compositeA, err := podgroup.RootOf(g.Objects, namespace, own, g.Gates)
	if err != nil {
		return false
	}
	b, compositeB, err := podgroup.RootOf(g.Objects, namespace, group, g.Gates)
	return err == nil && a == b && compositeA == compositeB
}

// below reports whether the pod's tree has the composite group.
func (g *GroupOptions) below(pod *v1.Pod, c *podgroup.Composite) bool {
	own, ok := podgroup.Of(pod)
	if !ok || pod.Namespace != c.Namespace {
		return false
	}
	tree, err := podgroup.TreeOf(g.Objects, pod.Namespace, own, g.Gates)
	if err != nil {
		return false
	}
	for _, n := range tree.Nodes() {
		if n.Composite != nil && n.Name == c.Name {
			return true
		}
	}
	return false
}
