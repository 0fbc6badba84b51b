package lint

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
)

func sortedNames(l v1.ResourceList) []v1.ResourceName { return slices.Sorted(maps.Keys(l)) }

var podRules = []Rule{
	{ID: "gates", Severity: Info, Summary: "a pod template has scheduling gates", work: func(c *checker, w *work) {
		if len(w.pod.Spec.SchedulingGates) > 0 {
			c.report(w.path+".schedulingGates", "check that a controller removes them", "nobody schedules the pods until gate %s is removed", w.pod.Spec.SchedulingGates[0].Name)
		}
	}},
	{ID: "priority-class-missing", Severity: Warning, Summary: "the priority class does not exist, so that the API server refuses the pods", work: func(c *checker, w *work) {
		name := w.pod.Spec.PriorityClassName
		if name == "" || name == "system-node-critical" || name == "system-cluster-critical" {
			return
		}
		names := c.classes()
		if _, ok := names[name]; !ok && len(names) > 0 {
			c.report(w.path+".priorityClassName", "mend the name, or create the class", "there is no PriorityClass %s%s", name, nearNames(name, slices.Collect(maps.Keys(names))))
		}
	}},
	{ID: "priority-below-all", Severity: Info, Summary: "the priority is below that of every other pod", work: func(c *checker, w *work) {
		mine, known := c.classes()[w.pod.Spec.PriorityClassName]
		if w.pod.Spec.Priority != nil {
			mine, known = *w.pod.Spec.Priority, true
		}
		if !known || mine >= 0 {
			return
		}
		n := 0
		for _, o := range c.works {
			v := c.classes()[o.pod.Spec.PriorityClassName]
			if o.pod.Spec.Priority != nil {
				v = *o.pod.Spec.Priority
			}
			if o != w && v <= mine {
				return
			}
			n++
		}
		if c.in.Cluster != nil {
			for _, p := range c.in.Cluster.Pods {
				if n++; p.Spec.Priority != nil && *p.Spec.Priority <= mine {
					return
				}
			}
		}
		if n > 1 {
			c.report(w.path+".priorityClassName", "a class that is not below all others", "every other pod may preempt these pods: priority %d", mine)
		}
	}},
	{ID: "scheduler-name", Severity: Info, Summary: "the pods wait for another scheduler", work: func(c *checker, w *work) {
		if n := w.pod.Spec.SchedulerName; n != "" && n != v1.DefaultSchedulerName {
			c.report(w.path+".schedulerName", "check that the scheduler runs", "kube-scheduler leaves the pods to %s", n)
		}
	}},
	{ID: "selector-mismatch", Severity: Warning, Summary: "the controller's selector does not match its template, so that the API server refuses the workload", work: func(c *checker, w *work) {
		for _, d := range c.in.Deployments {
			if "Deployment "+namespace(d.Namespace)+"/"+d.Name == w.object && d.Spec.Selector != nil && !selects(d.Spec.Selector, w.pod.Labels) {
				c.report("spec.selector", "the labels of the template", "the selector does not match the labels of the template")
			}
		}
		for _, s := range c.in.StatefulSets {
			if "StatefulSet "+namespace(s.Namespace)+"/"+s.Name == w.object && s.Spec.Selector != nil && !selects(s.Spec.Selector, w.pod.Labels) {
				c.report("spec.selector", "the labels of the template", "the selector does not match the labels of the template")
			}
		}
	}},
}

// classes returns the values of the priority classes that are known.
func (c *checker) classes() map[string]int32 {
	out := map[string]int32{}
	for _, k := range c.in.PriorityClasses {
		if k != nil {
			out[k.Name] = k.Value
		}
	}
	if c.in.Cluster != nil {
		for _, k := range c.in.Cluster.PriorityClasses {
			out[k.Name] = k.Value
		}
	}
	return out
}
