package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
)

// raised returns the relaxation in which the pods of a DaemonSet get the lowest priority with which preemption makes room on the one
// node that is meant. ok is false when no priority does, and when another cause keeps the pod waiting.
func (d *diagnosis) raised() (r Relaxation, ok bool) {
	if d.cause == nil || d.cause.Type != causeDaemon || d.pod.Spec.PreemptionPolicy != nil && *d.pod.Spec.PreemptionPolicy == v1.PreemptNever {
		return r, false
	}
	plan, _ := d.common.placerOf(d)
	budgets := placement.PreemptOptions{Budgets: disruption.NewBudgets(d.budgets.pdbs, disruption.BudgetOptions{})}
	for _, level := range d.levels() {
		c := d.priority(level)
		pod := d.pod.DeepCopy()
		c.edit(pod, 0)
		dec := plan.Decide(pod, placement.Options{})
		if dec.Placed() {
			return r, false
		}
		made := plan.Preempt(pod, dec.Failure, placement.Options{}, budgets)
		if made.Node == "" {
			continue
		}
		for _, v := range made.Victims {
			c.remove = append(c.remove, v.Pod)
		}
		if d.decided([]*Change{c}, func(s *cluster.Snapshot) { d.rehouse(c, s) }) == made.Node && d.decided([]*Change{c}, nil) == made.Node {
			return d.relaxed([]*Change{c}, made.Node), true
		}
	}
	return r, false
}

// levels returns the priorities that the pod does not exceed, of the pods on the node that is meant, the lowest first. Pods of kube-system
// alone may be above the classes of users.
func (d *diagnosis) levels() (out []int32) {
	for p := range d.base.Pods(d.sought.pool[0]) {
		n := podinfo.Priority(p)
		if n < podinfo.Priority(d.pod) || n >= podinfo.HighestOfUsers && (d.pod.Namespace != metav1.NamespaceSystem || n == math.MaxInt32) {
			continue
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// priority returns the change that puts the pod above a priority.
func (d *diagnosis) priority(level int32) *Change {
	c := &Change{
		Kind: Priority, Object: "Pod " + podinfo.Name(d.pod), Path: "spec.priorityClassName", From: fmt.Sprint(podinfo.Priority(d.pod)), To: fmt.Sprint(level), rule: "spec.priority", pod: d.pod,
		edit: func(p *v1.Pod, _ int64) {
			above := level + 1
			p.Spec.Priority, p.Spec.PriorityClassName = &above, ""
		},
		make: leave,
	}
	d.own(c)
	return c
}

// givesWay says what the pods do that preemption takes away: "default/a gives way and goes to n2".
func (c *Change) givesWay() string {
	var out []string
	for _, l := range c.Leaving {
		text := l.Pod + " gives way"
		if l.To != "" {
			text += " and goes to " + l.To
		} else {
			text += " and waits"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// onNode names the pods that hold the room of a node, with their priorities; "" for none.
func (x *sought) onNode(i int) string {
	var names []string
	least, most := int32(math.MaxInt32), int32(math.MinInt32)
	for p := range x.c.Pods(i) {
		names = append(names, p.Name)
		least, most = min(least, podinfo.Priority(p)), max(most, podinfo.Priority(p))
	}
	slices.Sort(names)
	switch {
	case names == nil:
		return ""
	case least == most:
		return fmt.Sprintf(" (%s, priority %d)", few(names), least)
	}
	return fmt.Sprintf(" (%s, priorities %d to %d)", few(names), least, most)
}
