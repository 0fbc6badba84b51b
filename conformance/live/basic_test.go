package live

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// The daemon binds pods, says why it cannot, preempts, and leaves the pods of other schedulers alone.
func TestBasic(t *testing.T) {
	w := newWorld(t)
	w.priorityClass("high", 1000)
	w.node("n1", "2")
	w.podberth()
	w.pod("p1", "1")
	w.bound("p1", "n1")
	require.Equal(t, v1.ConditionTrue, condition(w.get("p1"), v1.PodScheduled).Status)
	w.until("the event", func() bool { return len(w.events("Scheduled", "p1")) == 1 })
	require.Equal(t, []string{"Successfully assigned default/p1 to n1"}, w.events("Scheduled", "p1"))

	other := w.pod("other", "1", func(p *v1.Pod) { p.Spec.SchedulerName = "other" })
	w.pod("big", "3")
	const text = "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
	w.until("the condition", func() bool { return condition(w.get("big"), v1.PodScheduled).Message == text })
	require.Equal(t, v1.PodReasonUnschedulable, condition(w.get("big"), v1.PodScheduled).Reason)
	w.until("the event", func() bool { return len(w.events("FailedScheduling", "big")) == 1 })
	require.Equal(t, []string{text}, w.events("FailedScheduling", "big"))

	w.pod("hi", "2", func(p *v1.Pod) { p.Spec.PriorityClassName = "high" })
	w.bound("hi", "n1")
	require.Empty(t, w.get("hi").Status.NominatedNodeName)
	w.until("the event", func() bool { return len(w.events("Preempted", "p1")) == 1 })

	w.node("n2", "4")
	w.bound("big", "n2")
	require.Equal(t, v1.ConditionTrue, condition(w.get("big"), v1.PodScheduled).Status)
	now := w.get("other")
	require.Equal(t, other.ResourceVersion, now.ResourceVersion, "nobody wrote to the pod of another scheduler")
}
