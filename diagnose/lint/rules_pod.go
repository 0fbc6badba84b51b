package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

func sortedNames(l v1.ResourceList) []v1.ResourceName { return slices.Sorted(maps.Keys(l)) }

var podRules = []Rule{
	{ID: "gates", Severity: Info, Summary: "a pod template has scheduling gates", work: func(c *checker, w *work) {
		if len(w.pod.Spec.SchedulingGates) > 0 {
			var names []string
			for _, g := range w.pod.Spec.SchedulingGates {
				names = append(names, g.Name)
			}
			noun := map[bool]string{true: "gate %s is", false: "the gates %s are"}[len(names) == 1]
			c.report(w.path+".schedulingGates", "check that a controller removes them", "nobody schedules the pods until "+noun+" removed", strings.Join(names, ", "))
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
	{ID: "small-quantity", Severity: Warning, Summary: "an amount of memory or storage that is no whole number of bytes", work: func(c *checker, w *work) {
		smallIn(c, w.path+".containers", w.given.Spec.Containers)
		smallIn(c, w.path+".initContainers", w.given.Spec.InitContainers)
	}},
	{ID: "renamed-label", Severity: Warning, Summary: "a label of nodes that was renamed: new nodes lack it", work: func(c *checker, w *work) {
		see := func(path, key string) {
			if now := podinfo.GeneralLabels[key]; now != "" {
				c.report(path, now, "%s is the old name of %s", key, now)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(w.given.Spec.NodeSelector)) {
			see(w.path+".nodeSelector", key)
		}
		for i, t := range requiredTerms(w.given) {
			for _, r := range t.MatchExpressions {
				see(fmt.Sprintf("%s%s.nodeSelectorTerms[%d]", w.path, requiredNodes, i), r.Key)
			}
		}
		for i, t := range w.given.Spec.TopologySpreadConstraints {
			see(w.path+fmt.Sprintf(spreadPath, i)+".topologyKey", t.TopologyKey)
		}
		for i, t := range requiredWith(w.given) {
			see(w.path+fmt.Sprintf(withPath, i)+".topologyKey", t.TopologyKey)
		}
		for i, t := range requiredApart(w.given) {
			see(w.path+fmt.Sprintf(apartPath, i)+".topologyKey", t.TopologyKey)
		}
	}},
	{ID: "tolerates-broken-node", Severity: Warning, Summary: "pods that are no DaemonSet's stay on a broken node without end, or come to a node that evicts", work: func(c *checker, w *work) {
		if w.kind == "DaemonSet" || strings.HasPrefix(w.given.Spec.PriorityClassName, "system-") {
			return
		}
		for i, t := range w.given.Spec.Tolerations {
			path := fmt.Sprintf("%s.tolerations[%d]", w.path, i)
			switch t.Key {
			case v1.TaintNodeNotReady, v1.TaintNodeUnreachable:
				if t.TolerationSeconds == nil && t.Effect != v1.TaintEffectNoSchedule && t.Effect != v1.TaintEffectPreferNoSchedule {
					seconds := "tolerationSeconds: 300"
					if t.Effect == "" { // the API server refuses seconds without it
						seconds = "effect: NoExecute and " + seconds
					}
					c.report(path, seconds+", or drop the toleration: 300 s are the default", "the pod stays for ever on a node with %s, and no other pod takes its place", t.Key)
				}
			case v1.TaintNodeMemoryPressure, v1.TaintNodeDiskPressure, v1.TaintNodePIDPressure:
				c.report(path, "drop the toleration", "the pod comes to a node with %s, where the kubelet refuses or evicts it", t.Key)
			}
		}
	}},
	{ID: "selector-mismatch", Severity: Error, Summary: "the controller's selector does not match its template, so that the API server refuses the workload", work: func(c *checker, w *work) {
		var selector *metav1.LabelSelector
		switch o := w.manifest.(type) {
		case *appsv1.Deployment:
			selector = o.Spec.Selector
		case *appsv1.ReplicaSet:
			selector = o.Spec.Selector
		case *appsv1.StatefulSet:
			selector = o.Spec.Selector
		case *appsv1.DaemonSet:
			selector = o.Spec.Selector
		}
		if selector != nil && !selects(selector, w.given.Labels) {
			c.report("spec.selector", "the labels of the template", "the selector does not match the labels of the template")
		}
	}},
}

// smallIn reports the amounts of containers that are no whole number of bytes.
func smallIn(c *checker, path string, containers []v1.Container) {
	for i, k := range containers {
		for _, list := range []struct {
			name    string
			amounts v1.ResourceList
		}{{"requests", k.Resources.Requests}, {"limits", k.Resources.Limits}} {
			for _, name := range []v1.ResourceName{v1.ResourceMemory, v1.ResourceEphemeralStorage} {
				q := list.amounts[name]
				if q.MilliValue()%1000 == 0 {
					continue
				}
				text := q.String()
				fix := strings.TrimSuffix(text, "m") + "Mi"
				if limit := k.Resources.Limits[name]; list.name == "requests" && limit.MilliValue()%1000 != 0 { // a larger request needs a larger limit
					fix += " with limits " + strings.TrimSuffix(limit.String(), "m") + "Mi"
				}
				c.report(fmt.Sprintf("%s[%d].resources.%s[%s]", path, i, list.name, name), fix, "%s %s are thousandths of a byte", text, name)
			}
		}
	}
}
