package preemption

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

const (
	neverMessage   = "not eligible due to preemptionPolicy=Never."
	waitingMessage = "not eligible due to a terminating pod on the nominated node."
)

// eligible reports whether the pod may try to preempt, and returns the reason if it may not. The first line that applies
// decides:
//
//  1. The preemptionPolicy is Never: no. Any other value, known or not, goes on.
//  2. The pod has no nominated node: yes.
//  3. The nominated node is rejected as Unresolvable, or is not in the cluster: yes.
//  4. A pod on the nominated node that may be a victim is terminating because a scheduler preempted it: no. The preemptor
//     waits for that pod, whoever preempted it.
//  5. Otherwise yes.
//
// Rules P2: documentation, "Pod Priority and Preemption" (Non-preempting PriorityClass, User exposed information).
func (r *Request) eligible() (bool, string) {
	if p := r.Pod.Spec.PreemptionPolicy; p != nil && *p == v1.PreemptNever {
		return false, neverMessage
	}
	i := r.slot(r.Pod.Status.NominatedNodeName) // no node has an empty name
	if i < 0 || r.rejection(i) == Unresolvable {
		return true, ""
	}
	for q := range r.Cluster.Pods(i) {
		if q.DeletionTimestamp != nil && Preempted(q) && r.victim(i, q) {
			return false, waitingMessage
		}
	}
	return true, ""
}

// Preempted reports whether a scheduler has preempted the pod, which must not be nil: the pod's first DisruptionTarget condition says so.
func Preempted(pod *v1.Pod) bool {
	for k := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[k]; c.Type == v1.DisruptionTarget {
			return c.Status == v1.ConditionTrue && c.Reason == v1.PodReasonPreemptionByScheduler
		}
	}
	return false
}

// victim reports whether a pod of slot i may be a victim: the priority of its unit is lower, and Options.Eligible allows it.
func (r *Request) victim(i int, q *v1.Pod) bool {
	return r.unitPriority(q) < Priority(r.Pod) && (r.Options.Eligible == nil || r.Options.Eligible(i, q, r.Pod))
}

// unitPriority returns the priority of the first unit of Options.Units that names the pod; the pod's own without one.
func (r *Request) unitPriority(q *v1.Pod) int32 {
	for k := range r.Options.Units {
		u := &r.Options.Units[k]
		if !slices.ContainsFunc(u.Pods, func(p *v1.Pod) bool { return p != nil && p.Namespace == q.Namespace && p.Name == q.Name }) {
			continue
		}
		if u.Priority != nil {
			return *u.Priority
		}
		highest := Priority(q)
		for _, p := range u.Pods {
			if p != nil {
				highest = max(highest, Priority(p))
			}
		}
		return highest
	}
	return Priority(q)
}

func (r *Request) rejection(i int) Rejection {
	if i >= len(r.Rejections) {
		return Unresolvable
	}
	return r.Rejections[i]
}

// slot returns the slot of the node of that name, -1 without such a node.
func (r *Request) slot(name string) int {
	if s, ok := r.Cluster.(interface{ Slot(string) int }); ok {
		return s.Slot(name)
	}
	for i := range r.Cluster.Len() {
		if n := r.Cluster.Node(i); n != nil && n.Name == name {
			return i
		}
	}
	return -1
}
