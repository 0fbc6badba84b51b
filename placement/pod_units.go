package placement

import (
	"math"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/preemption"
)

// podUnit is a set of pods on nodes that leave together.
type podUnit struct {
	podgroup.Unit
	pods []preemption.Placed
}

// podUnits returns the units of the pods on the slots, in the order in which their first pods stand there. A pod
// without a group counts if its priority is lower than below.
func podUnits(c Cluster, groups podgroup.Objects, slots []int, g podgroup.Gates, now time.Time, below int64) (all []*podUnit) {
	shared := map[string]*podUnit{}
	for _, i := range slots {
		for q := range c.Pods(i) {
			_, grouped := podgroup.Of(q)
			if !grouped && int64(podinfo.Priority(q)) >= below {
				continue
			}
			node, priority := unitOf(groups, q, g)
			if node != nil && shared[node.String()] != nil {
				shared[node.String()].add(q, i, now)
				continue
			}
			u := &podUnit{Unit: podgroup.Unit{Priority: priority}}
			switch {
			case node != nil && node.Composite != nil:
				u.Kind = podgroup.CompositeUnit
			case grouped:
				u.Kind = podgroup.GroupUnit
			}
			if node != nil {
				shared[node.String()] = u
			}
			u.add(q, i, now)
			all = append(all, u)
		}
	}
	return all
}

// unitOf is podgroup.UnitOf, with the pod's own priority where no group has one.
func unitOf(groups podgroup.Objects, q *v1.Pod, g podgroup.Gates) (*podgroup.Node, int32) {
	node, priority, ok := podgroup.UnitOf(groups, q, g)
	if !ok {
		priority = podinfo.Priority(q)
	}
	return node, priority
}

func (u *podUnit) add(q *v1.Pod, slot int, now time.Time) {
	if start := podinfo.Start(q, now); u.Pods == 0 || start.Before(u.Start) {
		u.Start = start
	}
	u.pods = append(u.pods, preemption.Placed{Pod: q, Slot: slot})
	u.Pods++
}

// groupUnits returns the units of pods that belong to groups, for a preemptor without a group.
func groupUnits(c Cluster, g podgroup.Gates) (out []preemption.Unit) {
	groups, ok := c.(podgroup.Objects)
	if !ok {
		return nil
	}
	var slots []int
	for i := range c.Len() {
		if c.Node(i) != nil {
			slots = append(slots, i)
		}
	}
	for _, u := range podUnits(c, groups, slots, g, time.Time{}, math.MinInt64) {
		x := preemption.Unit{Priority: &u.Priority, Kind: u.Kind}
		for _, q := range u.pods {
			x.Pods = append(x.Pods, q.Pod)
		}
		out = append(out, x)
	}
	return out
}
