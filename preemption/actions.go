package preemption

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Actions lists what the caller does to carry out a [Result], in the order of the fields. The zero value means that the
// caller does nothing.
type Actions struct {
	// Evict are the victims to delete, most important first. Victims that are terminating already are left out, and a
	// victim that an extender names twice is here once. For each victim the caller adds Condition to the pod's status and
	// deletes the pod with empty options, so that the pod's own grace period applies. A pod that is not found needs no
	// action. A pod that waits at Permit, or that is being bound, is rejected or unbound in the scheduler's memory
	// instead.
	Evict []*v1.Pod
	// Condition is the condition for the status of each evicted pod, without times. It is nil without victims.
	Condition *v1.PodCondition
	// Event is the note of the event about each evicted pod: type Normal, reason "Preempted", action "Preempting".
	Event string
	// ClearNominations are the pods whose status.nominatedNodeName the caller clears: the pods of lower priority than the
	// preemptor that are nominated to the chosen node, sorted by namespace and name, or the preemptor itself. The caller
	// ignores a failure to clear.
	ClearNominations []*v1.Pod
	// Nominate is the node that the caller writes to the preemptor's status.nominatedNodeName; "" if there is none.
	Nominate string
}

// Actions returns what the caller does to carry out the result. nominated are the pods nominated to the chosen node; nil is
// none. A result without success clears at most the preemptor's own nomination.
//
// When an eviction fails, v1.37 stops. In its asynchronous mode v1.37 goes on without the last eviction and returns the
// preemptor to the queue. Rules P12.1 and P12.2: documentation, "Pod Priority and Preemption", User exposed information.
func (r *Result) Actions(preemptor *v1.Pod, nominated []*v1.Pod) Actions {
	if r.Outcome != Success {
		if r.ClearNomination && preemptor.Status.NominatedNodeName != "" {
			return Actions{ClearNominations: []*v1.Pod{preemptor}}
		}
		return Actions{}
	}
	a := Actions{
		Condition: &v1.PodCondition{
			Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonPreemptionByScheduler,
			Message: preemptor.Spec.SchedulerName + ": preempting to accommodate a higher priority pod",
		},
		Event:    fmt.Sprintf("Preempted by pod %s on node %s", preemptor.UID, r.Node),
		Nominate: r.Node,
	}
	for _, v := range r.Victims {
		if (r.again || v.Pod.DeletionTimestamp == nil) && !slices.Contains(a.Evict, v.Pod) {
			a.Evict = append(a.Evict, v.Pod)
		}
	}
	for _, q := range nominated {
		if Priority(q) < Priority(preemptor) && q.UID != preemptor.UID {
			a.ClearNominations = append(a.ClearNominations, q)
		}
	}
	slices.SortStableFunc(a.ClearNominations, func(a, b *v1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return a
}
