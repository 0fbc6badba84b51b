package place

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/overhead"
)

// This file says what is true of pods that have spec.nodeName, whatever their specification says.

// resizeOf returns the condition of a resize in place that the kubelet has not made, nil for none.
func resizeOf(pod *v1.Pod) *v1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == v1.PodResizePending && c.Status == v1.ConditionTrue {
			return c
		}
	}
	return nil
}

// granted returns a pod with the requests that its kubelet has allocated while a resize waits: these it has, and not those of its specification. Other
// pods are returned as they are.
func granted(pod *v1.Pod) *v1.Pod {
	if resizeOf(pod) == nil {
		return pod
	}
	out := pod.DeepCopy()
	grant := func(list []v1.Container, statuses []v1.ContainerStatus) {
		for i := range list {
			at := slices.IndexFunc(statuses, func(s v1.ContainerStatus) bool { return s.Name == list[i].Name })
			if at < 0 || list[i].Resources.Requests == nil {
				continue
			}
			for name, q := range statuses[at].AllocatedResources {
				list[i].Resources.Requests[name] = q
			}
		}
	}
	grant(out.Spec.Containers, out.Status.ContainerStatuses)
	grant(out.Spec.InitContainers, out.Status.InitContainerStatuses)
	return out
}

// resizing says, after "Pod a/b runs on n", what a running pod has while its resize waits, and what the scheduler counts; "" for other pods. n may be
// nil.
func resizing(pod *v1.Pod, n *v1.Node) string {
	c := resizeOf(pod)
	if c == nil {
		return ""
	}
	has, wants, counts := overhead.Requests(granted(pod), overhead.Options{}), overhead.Requests(pod, overhead.Options{}), overhead.Requests(pod, overhead.Options{UseStatus: true})
	var now, then, counted, offered []string
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		a, b, count := has[name], wants[name], counts[name]
		if a.Cmp(b) == 0 {
			continue
		}
		now, then = append(now, fmt.Sprintf("%s %s", name, a.String())), append(then, fmt.Sprintf("%s %s", name, b.String()))
		counted = append(counted, fmt.Sprintf("%s %s", name, count.String()))
		if n != nil {
			q := n.Status.Allocatable[name]
			offered = append(offered, fmt.Sprintf("%s %s", name, q.String()))
		}
	}
	if now == nil {
		return ""
	}
	text := fmt.Sprintf(" with %s. Its resize to %s is %s", strings.Join(now, " and "), strings.Join(then, " and "), c.Reason)
	if offered != nil {
		text += fmt.Sprintf(" (%s has %s)", n.Name, strings.Join(offered, " and "))
	}
	return text + fmt.Sprintf("; the scheduler counts %s", strings.Join(counted, " and "))
}

// bypassed explains a pod that waits on the node of its spec.nodeName for a scheduler that never sees it.
func (e *explanation) bypassed(pod *v1.Pod, cause *diagnose.Cause, r *diagnose.Remedy) {
	e.State, e.Node, e.Cause, e.pod = "Pending", pod.Spec.NodeName, cause, pod
	e.waits = []string{fmt.Sprintf("Pod %s waits: %s.", key(pod), cause.Text)}
	e.said = "No scheduler tries it."
	if r != nil {
		e.Help = []string{r.Text}
	}
}
