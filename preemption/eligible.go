package preemption

import (
	v1 "k8s.io/api/core/v1"
)

const (
	neverMessage   = "not eligible due to preemptionPolicy=Never."
	waitingMessage = "not eligible due to a terminating pod on the nominated node."
)

// PreemptionByScheduler is the reason of the DisruptionTarget condition of victims.
const PreemptionByScheduler = v1.PodReasonPreemptionByScheduler

// Eligible reports whether the pod may try to preempt, and why not. The first that applies decides:
//
//  1. preemptionPolicy Never: no. Any other value, known or not: go on.
//  2. No nominated node: yes.
//  3. The nominated node is rejected as Unresolvable, or is not in the cluster: yes.
//  4. A pod on the nominated node that may be a victim is terminating since a scheduler preempted it: no; the preemptor
//     waits for it. It need not be the preemptor's own victim.
//  5. Otherwise yes.
//
// Rule: documentation, "Pod Priority and Preemption", Non-preempting PriorityClass and User exposed information. It reads
// Pod, Cluster, Rejections and Options.Eligible of the request.
func Eligible(r Request) (bool, string) {
	if p := r.Pod.Spec.PreemptionPolicy; p != nil && *p == v1.PreemptNever {
		return false, neverMessage
	}
	name := r.Pod.Status.NominatedNodeName
	if name == "" {
		return true, ""
	}
	i := r.slot(name)
	if i < 0 || r.rejection(i) == Unresolvable {
		return true, ""
	}
	for q := range r.Cluster.Pods(i) {
		if q.DeletionTimestamp != nil && r.victim(i, q) && preempted(q) {
			return false, waitingMessage
		}
	}
	return true, ""
}

// preempted reports whether the pod's first DisruptionTarget condition says that a scheduler preempted it.
func preempted(pod *v1.Pod) bool {
	for k := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[k]; c.Type == v1.DisruptionTarget {
			return c.Status == v1.ConditionTrue && c.Reason == PreemptionByScheduler
		}
	}
	return false
}

// victim reports whether a pod of slot i may be a victim: lower priority, and allowed by the option.
func (r *Request) victim(i int, q *v1.Pod) bool {
	return Priority(q) < Priority(r.Pod) && (r.Options.Eligible == nil || r.Options.Eligible(i, q, r.Pod))
}

func (r *Request) rejection(i int) Rejection {
	if i >= len(r.Rejections) {
		return Unresolvable
	}
	return r.Rejections[i]
}

// slot returns the slot of a node, -1 without one.
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
