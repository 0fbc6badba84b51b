package proof

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
)

// CheckPlacement decides about the members of a placement one after the other, each forced to its node, and counts whether the groups have
// enough. The error names the first member that its node refuses with the reasons, a member or a node that the question does not have, a
// domain that does not exist, or a group with too few members. Other errors are those of [Question.Subject].
func CheckPlacement(q Question, places []Place) (err error) {
	defer must.Catch(&err)
	x := must.Get(q.Subject())
	s := q.Snapshot.Fork()
	placer := must.Get(placement.NewPlacer(s, x.Profile))
	on := map[int]int{} // slots by member
	for k, p := range places {
		at := slices.IndexFunc(x.Members, func(pod *v1.Pod) bool { return podinfo.Name(pod) == p.Pod })
		if at < 0 {
			return fmt.Errorf("gang: places[%d].pod: Not found: %q: no member that waits", k, p.Pod)
		}
		if _, twice := on[at]; twice {
			return fmt.Errorf("gang: places[%d].pod: Duplicate value: %q", k, p.Pod)
		}
		slot, ok := placer.Slot(p.Node)
		if !ok {
			return fmt.Errorf("gang: places[%d].node: Not found: %q", k, p.Node)
		}
		if reason := force(placer, x.Members[at], slot, s.Node(slot).Name, q.Nominated); reason != "" {
			return fmt.Errorf("gang: places[%d]: Invalid value: node %s does not take pod %s: %s", k, p.Node, p.Pod, reason)
		}
		on[at] = slot
	}
	if err := x.domains(&q, on); err != nil {
		return err
	}
	if len(on) == 0 {
		return fmt.Errorf("gang: places: Required value: a placement has one member at least")
	}
	if fault := x.fault(x.Tree.Root(), on); fault != "" {
		return fmt.Errorf("gang: places: Invalid value: %s", fault)
	}
	return nil
}

// force puts a pod on a slot, or says why the filters do not allow it.
func force(p *placement.Placer, pod *v1.Pod, slot int, node string, nominated func(i int) []*v1.Pod) string {
	forced := *pod
	forced.Status.NominatedNodeName = node
	d := p.Decide(&forced, placement.Options{Nominated: nominated})
	if d.Slot == slot {
		must.Do(p.Assume(&forced, d))
		return ""
	}
	for _, r := range p.Rejections(pod, slot) {
		for _, reason := range r.Reasons {
			return reason
		}
	}
	if d.Failure != nil { // before any node was asked
		return d.Failure.Text()
	}
	return "room is kept for pods that are nominated to it"
}

// domains checks that the members below each group with a topology constraint are in one domain.
func (x *Subject) domains(q *Question, on map[int]int) error {
	for _, n := range x.Tree.Nodes() {
		key := n.Key()
		if key == "" || !x.Gates.Topology {
			continue
		}
		value, seen, with := "", false, ""
		check := func(pod *v1.Pod, node *v1.Node) error {
			if node == nil {
				return fmt.Errorf("gang: %s: the node of pod %s is unknown", n, podinfo.Name(pod))
			}
			v, ok := node.Labels[key]
			switch {
			case !ok:
				return fmt.Errorf("gang: %s: node %s of pod %s has no label %s", n, node.Name, podinfo.Name(pod), key)
			case seen && v != value:
				return fmt.Errorf("gang: %s: pod %s is in %s %s, pod %s in %s", n, with, key, value, podinfo.Name(pod), v)
			}
			value, seen, with = v, true, podinfo.Name(pod)
			return nil
		}
		for _, leaf := range n.Leaves() {
			for pod, slot := range q.Snapshot.Members(leaf.Namespace, leaf.Name) {
				var node *v1.Node
				if slot >= 0 {
					node = q.Snapshot.Node(slot)
				}
				if err := check(pod, node); err != nil {
					return err
				}
			}
		}
		for _, k := range x.Below(n) {
			if slot, ok := on[k]; ok {
				if err := check(x.Members[k], q.Snapshot.Node(slot)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// fault says which group of a node of the tree has too few members, "" for none. Below a group without place nobody may have a node.
func (x *Subject) fault(n *podgroup.Node, on map[int]int) string {
	if x.has(n, on) < n.Needs() {
		return fmt.Sprintf("%s has %d of %d", n, x.has(n, on), n.Needs())
	}
	for _, child := range n.Children {
		if x.placed(child, on) > 0 {
			if fault := x.fault(child, on); fault != "" {
				return fault
			}
		}
	}
	return ""
}

// has counts the members of a group, or the children of a composite group that have enough.
func (x *Subject) has(n *podgroup.Node, on map[int]int) int {
	if n.Group != nil {
		return len(x.Scheduled[n]) + x.placed(n, on)
	}
	count := 0
	for _, child := range n.Children {
		if x.has(child, on) >= child.Needs() {
			count++
		}
	}
	return count
}

func (x *Subject) placed(n *podgroup.Node, on map[int]int) (count int) {
	for _, k := range x.Below(n) {
		if _, ok := on[k]; ok {
			count++
		}
	}
	return count
}
