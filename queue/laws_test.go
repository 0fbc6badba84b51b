package queue

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// One worked example of each law that the random tests check after every call.
func TestLaws(t *testing.T) {
	t.Run("a pod is somewhere until it is deleted or done", func(t *testing.T) {
		r := newRig(t, Options{})
		r.shut["x gated"] = true
		r.add("bound")
		r.pop()
		r.try("P", "waits")
		r.add("active", "gated")
		r.is(InFlight, "bound")
		r.is(Unschedulable, "waits")
		r.is(Active, "active")
		r.is(Gated, "gated")
		r.q.Delete(r.pod("waits"))
		r.q.Delete(r.pod("active"))
		r.q.Delete(r.pod("gated"))
		r.q.Done(r.pod("bound"))
		r.is(Nowhere, "bound", "waits", "active", "gated")
		require.Zero(t, r.q.Counts())
	})
	t.Run("a gated pod is in no other place", func(t *testing.T) {
		r := newRig(t, Options{})
		r.shut["x a"] = true
		r.add("a")
		r.event(nodeAdd)
		r.q.Advance(r.now)
		require.Equal(t, Counts{Gated: 1}, r.q.Counts())
		require.Empty(t, r.pop())
	})
	t.Run("a wake-up reaches pods that wait and pods in flight", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("P", "waits")
		r.add("flies")
		r.pop()
		r.event(nodeAdd)
		r.fail("flies", "P")
		r.is(Backoff, "waits", "flies")
	})
	t.Run("a pod without rejecters waits for no event", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a")
		r.pop()
		r.fail("a")
		r.is(ErrorBackoff, "a")
		until, will := r.q.Next(r.now)
		require.True(t, will)
		r.q.Advance(until)
		r.is(Active, "a")
	})
	t.Run("the log begins with the oldest flight", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a", "b")
		r.pop()
		r.event(nodeAdd)
		r.pop()
		r.event(assignedPodUpdate)
		r.q.Done(r.pod("a"))
		require.NotContains(t, r.q.InFlightEvents(), "NodeAdd")
		require.Contains(t, r.q.InFlightEvents(), "AssignedPodUpdate")
		r.q.Done(r.pod("b"))
		require.Empty(t, r.q.InFlightEvents())
	})
	t.Run("every return ends the attempt", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("rejected", "failed", "deleted", "done", "added again", "taken for another")
		for r.pop() != "" {
		}
		r.q.Delete(r.pod("deleted"))
		r.q.Done(r.pod("done"))
		again := r.pod("added again").DeepCopy()
		again.UID = "another"
		r.pods["added again"] = again
		r.add("added again")
		for name, f := range map[string]Failure{
			"rejected": {Rejecters: []string{"P"}}, "failed": {}, "deleted": {}, "done": {},
			"added again": {}, "taken for another": {Pod: &v1.Pod{}},
		} {
			_, err := r.q.Return(r.held[name], f, r.now)
			require.Equal(t, name == "added again", errors.Is(err, ErrQueued), name)
			require.Equal(t, name == "taken for another", errors.Is(err, ErrOtherPod), name)
		}
		require.Zero(t, r.q.Counts().InFlight)
		r.is(Nowhere, "deleted")
	})
}
