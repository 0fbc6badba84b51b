package diagnose

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
)

// tighten takes the values back, one after the other, as far as the pod still fits: first those of the pod, then those of other
// objects.
func (d *diagnosis) tighten(list []*Change) {
	if !slices.ContainsFunc(list, func(c *Change) bool { return c.value != nil }) {
		return
	}
	w, pod := d.apply(list)
	left, slots := d.valued(w, pod, list)
	for _, c := range list {
		if c.value == nil {
			continue
		}
		good, bad := c.value.loosest, c.value.from
		for good-bad > 1 || bad-good > 1 {
			middle := good + (bad-good)/2
			c.value.v = middle
			ok := false
			if c.edit != nil {
				p := d.pod.DeepCopy()
				for _, x := range list {
					if x.edit != nil {
						x.edit(p, x.now())
					}
				}
				ok = d.fits(left, p, slots)
			} else {
				w, pod := d.apply(list)
				ok = d.fits(w, pod, w.target)
			}
			if ok {
				good = middle
			} else {
				bad = middle
			}
		}
		c.value.v, c.To = good, c.value.show(good)
	}
}

// valued returns the filters that see a value of the pod, as a world, and the slots that the others allow.
func (d *diagnosis) valued(w *world, pod *v1.Pod, list []*Change) (left *world, slots bits) {
	left, slots = &world{snapshot: w.snapshot}, append(bits(nil), w.target...)
	for k, f := range w.filters {
		sees := false
		for i, c := range d.changes {
			sees = sees || d.sees[k]>>i&1 == 1 && slices.ContainsFunc(list, func(x *Change) bool { return x.value != nil && x.Path == c.Path && x.Kind == c.Kind })
		}
		if sees {
			left.filters = append(left.filters, f)
		} else {
			slots.and(d.asked(w, f, pod))
		}
	}
	return left, slots
}

// now returns the value of a change, 0 without one.
func (c *Change) now() int64 {
	if c.value == nil {
		return 0
	}
	return c.value.v
}

// decideAgain decides with the changes made, and fills in what follows: where the pods that leave fit, and which budgets must rise.
// The changes become those of the relaxation. The relaxation has no node when a filter fails. stuck are the pods that leave and
// have no other node.
func (d *diagnosis) decideAgain(list []*Change) (r Relaxation, final []*Change, stuck []*v1.Pod) {
	i := slices.IndexFunc(list, removes)
	node := d.decided(list, func(s *cluster.Snapshot) {
		if i >= 0 {
			stuck = d.rehouse(list[i], s)
		}
	})
	if node == "" {
		return Relaxation{}, nil, nil
	}
	if i >= 0 {
		c := list[i]
		c.evicts = true
		list = slices.Insert(slices.Clone(list), i, d.budgets.raises(c.remove)...)
		moves := len(stuck) == 0
		if moves {
			c.Kind = MovePods
			moves = d.together(list, c, node)
		}
		if !moves {
			c.Kind, c.to = RemovePods, nil
		}
		node = d.decided(list, nil)
	}
	return d.relaxed(list, node), list, stuck
}

// removes reports whether pods leave with a change.
func removes(c *Change) bool { return c.Kind == RemovePods || c.Kind == MovePods }

// together reports whether the pod goes to a node with all moves made, and to no node when one of the pods stays: in their new
// places pods can keep the pod off, or help it.
func (d *diagnosis) together(list []*Change, c *Change, node string) bool {
	if d.decided(list, nil) != node {
		return false
	}
	all := c.remove
	defer func() { c.remove = all }()
	for i := range all {
		c.remove = slices.Delete(slices.Clone(all), i, i+1)
		if d.decided(list, nil) != "" {
			return false
		}
	}
	return true
}

// decided returns where the pod goes with the changes made, "" for nowhere. A filter that fails on one node ends the decision
// although another node would take the pod. look, if any, sees the cluster with the changes, and with the pod on its node.
func (d *diagnosis) decided(list []*Change, look func(s *cluster.Snapshot)) string {
	t := d.trial()
	defer t.end()
	changes := make([]Change, len(list))
	for i, c := range list {
		changes[i] = *c
	}
	pod := apply(t.s, d.pod, changes)
	if len(pod.Spec.SchedulingGates) > 0 {
		return ""
	}
	node, ok := t.place(pod)
	if ok && look != nil {
		look(t.s)
	}
	return node
}
