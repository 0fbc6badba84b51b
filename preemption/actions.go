package preemption

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// ActionKind is what is to be done.
type ActionKind uint8

// The kinds.
const (
	// Evict: patch Condition into the pod's status, then delete it with empty options, so that its own grace period holds.
	// A pod that is not found is done. A pod that waits at Permit, or is being bound, is rejected or unbound in the
	// scheduler's memory instead.
	Evict ActionKind = iota
	// ClearNomination: remove the pod's status.nominatedNodeName, since the preemptor takes the room. Failing is no error.
	ClearNomination
	// Nominate: set the preemptor's status.nominatedNodeName to Node.
	Nominate
	// Unnominate: remove the preemptor's own status.nominatedNodeName.
	Unnominate
)

// String returns "evict", "clear nomination", "nominate" or "unnominate".
func (k ActionKind) String() string {
	return [...]string{"evict", "clear nomination", "nominate", "unnominate"}[min(k, Unnominate)]
}

// Action is one step of carrying out a Result.
type Action struct {
	Kind ActionKind
	Pod  *v1.Pod
	// Node is the chosen node; empty for Unnominate.
	Node string
	// Condition is what an evicted pod's status gets, without times.
	Condition *v1.PodCondition
	// Event is what is reported about an evicted pod: type Normal, reason "Preempted", action "Preempting", and this note.
	Event string
}

// Actions returns what is to be done, in order: evict the victims, most important first, but those that are terminating
// already; clear the nominations of pods of lower priority to the node, sorted by namespace and name; nominate the preemptor.
// A result without success has at most the clearing of the preemptor's own nomination, when it has one.
//
// nominated are the pods nominated to the chosen node. When an eviction fails v1.36 stops (or, in its asynchronous mode,
// goes on without the last eviction and returns the preemptor to its queue). Rule: documentation, "Pod Priority and
// Preemption", User exposed information.
func (r *Result) Actions(preemptor *v1.Pod, nominated []*v1.Pod) []Action {
	if r.Outcome != Success {
		if r.Nomination == Clear && preemptor.Status.NominatedNodeName != "" {
			return []Action{{Kind: Unnominate, Pod: preemptor}}
		}
		return nil
	}
	var out []Action
	for _, v := range r.Victims {
		if v.Pod.DeletionTimestamp == nil {
			out = append(out, evict(v.Pod, preemptor, r.Node))
		}
	}
	for _, q := range r.LowerNominated(preemptor, nominated) {
		out = append(out, Action{Kind: ClearNomination, Pod: q, Node: r.Node})
	}
	return append(out, Action{Kind: Nominate, Pod: preemptor, Node: r.Node})
}

func evict(victim, preemptor *v1.Pod, node string) Action {
	return Action{
		Kind: Evict, Pod: victim, Node: node,
		Condition: &v1.PodCondition{
			Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: PreemptionByScheduler,
			Message: preemptor.Spec.SchedulerName + ": preempting to accommodate a higher priority pod",
		},
		Event: fmt.Sprintf("Preempted by pod %s on node %s", preemptor.UID, node),
	}
}

// LowerNominated returns, of the pods nominated to the chosen node, those of lower priority than the preemptor, sorted by
// namespace and name: they lose their nomination.
func (r *Result) LowerNominated(preemptor *v1.Pod, nominated []*v1.Pod) []*v1.Pod {
	var out []*v1.Pod
	for _, q := range nominated {
		if Priority(q) < Priority(preemptor) && q.UID != preemptor.UID {
			out = append(out, q)
		}
	}
	slices.SortStableFunc(out, func(a, b *v1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}
