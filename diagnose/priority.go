package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
)

// raised returns the relaxation with which preemption makes room: the pods of a DaemonSet get the lowest priority that frees the one node that is
// meant, and pods whose class never preempts get the lowest class that does. ok is false when no priority makes room, and for other causes.
func (d *diagnosis) raised() (r Relaxation, ok bool) {
	if d.cause == nil {
		return r, false
	}
	never := d.pod.Spec.PreemptionPolicy != nil && *d.pod.Spec.PreemptionPolicy == v1.PreemptNever
	var list []*Change
	switch {
	case d.cause.Type == causeDaemon && !never:
		for _, level := range d.levels() {
			list = append(list, d.priority(level))
		}
	case d.cause.Type == causeFull && never:
		list = d.classesThatPreempt()
	}
	plan, _ := d.common.placerOf(d)
	budgets := placement.PreemptOptions{Budgets: disruption.NewBudgets(d.budgets.pdbs, disruption.BudgetOptions{})}
	for _, c := range list {
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

// classesThatPreempt returns the changes that give the pod another class that preempts, the lowest first. Classes of the system are for pods of
// kube-system.
func (d *diagnosis) classesThatPreempt() (out []*Change) {
	var classes []*schedulingv1.PriorityClass
	for k := range cluster.List[*schedulingv1.PriorityClass](d.base).All() {
		ours := k.Value < podinfo.HighestOfUsers || d.pod.Namespace == metav1.NamespaceSystem
		if (k.PreemptionPolicy == nil || *k.PreemptionPolicy != v1.PreemptNever) && ours && k.Value > math.MinInt32 {
			classes = append(classes, k)
		}
	}
	slices.SortFunc(classes, func(a, b *schedulingv1.PriorityClass) int {
		return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Name, b.Name))
	})
	for _, k := range classes {
		c := d.priority(k.Value - 1)
		c.key = k.Name
		c.edit = func(p *v1.Pod, _ int64) {
			value, preempts := k.Value, v1.PreemptLowerPriority
			p.Spec.Priority, p.Spec.PriorityClassName, p.Spec.PreemptionPolicy = &value, k.Name, &preempts
		}
		out = append(out, c)
	}
	return out
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
		switch {
		case l.To != "":
			text += " and goes to " + l.To
		case slices.ContainsFunc(c.remove, func(p *v1.Pod) bool { return podinfo.Name(p) == l.Pod && metav1.GetControllerOfNoCopy(p) == nil }):
			text += " and does not come back"
		default:
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
