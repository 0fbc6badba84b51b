package diagnose

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/overhead"
)

// This file says what holds the room of a node that a pod could have.

// staying says that pods of lower priority stay on a node because the pod does not preempt, "" when that is not so.
func (x *sought) staying(i int) string {
	if x.pod.Spec.PreemptionPolicy == nil || *x.pod.Spec.PreemptionPolicy != v1.PreemptNever {
		return ""
	}
	lower := 0
	for p := range x.c.Pods(i) {
		if podinfo.Priority(p) < podinfo.Priority(x.pod) {
			lower++
		}
	}
	if lower == 0 {
		return ""
	}
	who := "it never preempts (preemptionPolicy)"
	if class := x.pod.Spec.PriorityClassName; class != "" {
		who = fmt.Sprintf("its class %s does not preempt", class)
	}
	return fmt.Sprintf("; %s of lower priority %s the room, and %s", count(lower, "pod"), verb(lower, "holds", "hold"), who)
}

// resizing says which resize in place, that the kubelet has deferred, counts on a node already; "" when none does.
func (x *sought) resizing(i int, short []demand) (text string) {
	for p := range x.c.Pods(i) {
		at := deferred(p)
		if at < 0 {
			continue
		}
		refused := p.DeepCopy() // the same pod without what its resize adds
		refused.Status.Conditions[at].Reason = v1.PodReasonInfeasible
		has, counts := overhead.Requests(refused, overhead.Options{UseStatus: true}), overhead.Requests(p, overhead.Options{UseStatus: true})
		for _, d := range short {
			if from, to := has[d.name], counts[d.name]; from.Cmp(to) < 0 {
				text += fmt.Sprintf("; the resize of %s from %s %s to %s, which is deferred, counts there", podinfo.Name(p), d.name, from.String(), to.String())
			}
		}
	}
	return text
}
