package scheduler

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// changes removes the parts of the patch that the pod has already. now is the present version of the pod, nil if the
// pod is deleted. If the nomination or the condition changes, the condition is kept. kept is the node that the pod was nominated for
// in the queue, perhaps by a patch that is on its way.
func (p StatusPatch) changes(pod, now *v1.Pod, kept string) StatusPatch {
	if now != nil {
		pod = now
	}
	same := slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == p.Condition.Type && c.Status == p.Condition.Status && c.Reason == p.Condition.Reason && c.Message == p.Condition.Message
	})
	if n := p.NominatedNode; n != nil && *n == pod.Status.NominatedNodeName && (kept == "" || kept == *n) {
		p.NominatedNode = nil
	}
	if same && p.NominatedNode == nil {
		return StatusPatch{}
	}
	return p
}

// Apply returns a copy of the pod with the patch applied.
func (p StatusPatch) Apply(pod *v1.Pod) *v1.Pod {
	c := *pod
	if p.NominatedNode != nil {
		c.Status.NominatedNodeName = *p.NominatedNode
	}
	if p.Condition != nil {
		c.Status.Conditions = slices.Clone(pod.Status.Conditions)
		k := slices.IndexFunc(c.Status.Conditions, func(x v1.PodCondition) bool { return x.Type == p.Condition.Type })
		if k >= 0 {
			c.Status.Conditions[k] = *p.Condition
		} else {
			c.Status.Conditions = append(c.Status.Conditions, *p.Condition)
		}
	}
	return &c
}
