package rollout

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
)

// drain is the outcome of one try to drain a batch.
type drain struct {
	step    Step
	skipped []Skipped
	stuck   *stuck // nil: the batch is empty
}

// stuck is why a batch cannot be drained: pods that are pinned, or pods that no wave lets leave, or too little time.
type stuck struct {
	nodes   []string
	pinned  []pinned
	waiting []*item
	refused map[*item]refusal
	late    []*item // pods that are not gone at the time-out
}

type pinned struct {
	it     *item
	reason string
}

// drain cordons the nodes and drains them in waves. The caller takes the changes back when the drain is stuck.
func (x *run) drain(action Action, nodes []string) drain {
	d := drain{step: Step{Action: action, Nodes: nodes, Begin: x.now, Waves: []Wave{}}}
	for _, name := range nodes {
		must.Do(x.snapshot.Set(cordoned(x.snapshot.Node(x.snapshot.Slot(name)))))
	}
	waiting, pins := x.choose(nodes, &d)
	if len(pins) > 0 {
		d.stuck = &stuck{nodes: nodes, pinned: pins}
		return d
	}
	x.budgets.watch(waiting)
	touched := slices.Clone(waiting)
	for len(waiting) > 0 {
		w, left, refused := x.wave(waiting)
		if len(w.Moves)+len(w.Placed) == 0 {
			d.stuck = &stuck{nodes: nodes, waiting: left, refused: refused}
			return d
		}
		d.step.Waves = append(d.step.Waves, w)
		if late := x.late(d.step.Begin, &w, waiting); len(late) > 0 {
			d.stuck = &stuck{nodes: nodes, late: late}
			return d
		}
		waiting = left
	}
	d.step.Empty = x.now
	d.step.Budgets, d.step.Skews = x.budgets.seen(), x.skews(touched)
	return d
}

// late returns the pods that are not gone when the time of the drain is over.
func (x *run) late(begin time.Duration, w *Wave, waiting []*item) (late []*item) {
	if x.o.Timeout == 0 {
		return nil
	}
	over := later(begin, x.o.Timeout)
	for _, it := range waiting {
		k := slices.IndexFunc(w.Moves, func(m Move) bool { return m.Pod == podinfo.Name(it.obj) })
		if k >= 0 && w.Moves[k].Gone > over || k < 0 && x.now >= over {
			late = append(late, it)
		}
	}
	return late
}

// choose returns the pods of the nodes that drains evict, and the pods that must not leave.
func (x *run) choose(nodes []string, d *drain) (leave []*item, pins []pinned) {
	for _, name := range nodes {
		items := slices.Clone(x.onNode[name])
		slices.SortFunc(items, leaveOrder)
		pods, of := make([]*v1.Pod, len(items)), map[*v1.Pod]*item{}
		for i, it := range items {
			pods[i], of[it.seen] = it.seen, it
		}
		s := disruption.Select(name, pods, x.o.Drain, x.clock())
		for _, t := range s.Refused {
			pins = append(pins, pinned{of[t.Pod], t.Reason})
		}
		for _, t := range s.Skipped {
			d.skipped = append(d.skipped, Skipped{podinfo.Name(t.Pod), name, t.Reason})
		}
		for _, t := range s.Leaving {
			if reason := x.o.Pinned(t.Pod); reason != "" {
				pins = append(pins, pinned{of[t.Pod], reason})
			}
			leave = append(leave, of[t.Pod])
		}
	}
	return x.withGroups(leave, pins)
}

// cordoned returns the node as the first step of a drain leaves it.
func cordoned(n *v1.Node) *v1.Node {
	c := *n
	c.Spec.Unschedulable = true
	c.Spec.Taints = withTaint(n.Spec.Taints, v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule})
	return &c
}

// aged returns the node with OldTaint.
func aged(n *v1.Node) *v1.Node {
	c := *n
	c.Spec.Taints = withTaint(n.Spec.Taints, v1.Taint{Key: OldTaint, Effect: v1.TaintEffectPreferNoSchedule})
	return &c
}

// renewed returns the node as it comes back: it takes pods and has no OldTaint.
func renewed(n *v1.Node) *v1.Node {
	c := *n
	c.Spec.Unschedulable = false
	c.Spec.Taints = slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t v1.Taint) bool {
		return t.Key == OldTaint || t.Key == v1.TaintNodeUnschedulable
	})
	return &c
}

func withTaint(list []v1.Taint, t v1.Taint) []v1.Taint {
	if slices.ContainsFunc(list, func(o v1.Taint) bool { return o.MatchTaint(&t) }) {
		return list
	}
	return append(slices.Clip(list), t)
}

// surged returns the n-th surge node of a shape.
func (x *run) surged(n int) *v1.Node {
	c := renewed(x.o.Shape)
	c.Name = fmt.Sprintf("%s-surge-%d", x.o.Shape.Name, n)
	for x.snapshot.Slot(c.Name) >= 0 {
		c.Name += "-more"
	}
	c.UID = ""
	c.Labels = map[string]string{}
	for k, v := range x.o.Shape.Labels {
		c.Labels[k] = v
	}
	if x.o.Shape.Labels[v1.LabelHostname] != "" {
		c.Labels[v1.LabelHostname] = c.Name
	}
	return c
}
