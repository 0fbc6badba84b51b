package placement

import (
	"slices"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/podgroup"
)

// complete asks the caller for a placement of the whole tree and decides it member after member. nil: there is none. Everything is undone. The error is the
// caller's.
func (r *groupRun) complete() (*groupTrial, error) {
	places, err := r.o.Complete(slices.Clone(r.live))
	if err != nil || len(places) == 0 {
		return nil, err
	}
	defer r.undo(0)
	t := r.untried(r.tree.Root(), nil)
	members := map[string]*memberTrial{}
	t.each(func(m *memberTrial) { members[m.pod.Namespace+"/"+m.pod.Name] = m })
	for _, p := range places {
		m := members[p.Pod.Namespace+"/"+p.Pod.Name]
		slot, known := r.p.Slot(p.Node)
		if m == nil || m.done || !known {
			return nil, nil
		}
		if m.d, m.done = r.place(m.pod, []int{slot}), true; !m.d.Placed() {
			return nil, nil
		}
	}
	if !r.together(t) || r.settle(t).code != filter.Success {
		return nil, nil
	}
	r.rest(t, r.p.order())
	r.found(t)
	return t, nil
}

// each yields the members of all leaves.
func (t *groupTrial) each(yield func(m *memberTrial)) {
	for k := range t.members {
		yield(&t.members[k])
	}
	for _, child := range t.children {
		child.each(yield)
	}
}

// together reports whether the members below each constraint, those that run included, are in one domain.
func (r *groupRun) together(t *groupTrial) bool {
	if key := t.node.Key(); key != "" && r.o.Gates.Topology {
		var slots []int
		for _, slot := range r.before(t.node) {
			slots = append(slots, slot)
		}
		t.each(func(m *memberTrial) {
			if m.done {
				slots = append(slots, m.d.Slot)
			}
		})
		for _, i := range slots {
			if i < 0 {
				return false
			}
			v, ok := r.p.cluster.Node(i).Labels[key]
			if first := r.p.cluster.Node(slots[0]).Labels[key]; !ok || v != first {
				return false
			}
		}
	}
	return !slices.ContainsFunc(t.children, func(child *groupTrial) bool { return !r.together(child) })
}

// settle writes the status of each node of the tree by its members, and returns it. The root is unschedulable too if nobody was placed, or
// somebody in a group without enough.
func (r *groupRun) settle(t *groupTrial) *groupStatus {
	q := podgroup.Quorum{Minimum: t.node.Needs()}
	for k := range t.members {
		if t.members[k].done {
			q.Scheduled++
		}
	}
	if t.node.Composite == nil {
		q.Scheduled += r.scheduled(t.node)
	}
	for _, child := range t.children {
		if r.settle(child).code == filter.Success {
			q.Scheduled++
		}
	}
	t.status = &groupStatus{code: filter.Success}
	if q.State() != podgroup.Satisfied {
		t.status = failedStatus(q.Text())
	}
	if t.node.Up == nil && (len(t.placed()) == 0 || len(t.proposed()) != len(t.placed())) {
		t.status = failedStatus(podgroup.TextUnschedulable)
	}
	return t.status
}

// rest tries the members that the caller left out, in groups that have enough, in the domains where these are.
func (r *groupRun) rest(t *groupTrial, within []int) {
	if t.status.code != filter.Success {
		return
	}
	if key := t.node.Key(); key != "" && r.o.Gates.Topology {
		at := -1
		for _, slot := range r.before(t.node) {
			at = slot
		}
		t.each(func(m *memberTrial) {
			if m.done && m.d.Placed() {
				at = m.d.Slot
			}
		})
		if at >= 0 {
			value := r.p.cluster.Node(at).Labels[key]
			within = slices.DeleteFunc(slices.Clone(within), func(i int) bool {
				v, ok := r.p.cluster.Node(i).Labels[key]
				return !ok || v != value
			})
		}
	}
	for k := range t.members {
		if m := &t.members[k]; !m.done {
			m.d, m.done = r.place(m.pod, within), true
		}
	}
	for _, child := range t.children {
		r.rest(child, within)
	}
}
