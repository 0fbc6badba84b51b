package queue

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

func TestMove(t *testing.T) {
	t.Run("backoff is never looked at", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("P", "a")
		r.event(nodeAdd)
		asked := r.asked["P a"]
		require.Empty(t, r.event(nodeAdd))
		require.Equal(t, asked, r.asked["P a"])
	})
	t.Run("only pods that wait for it are asked", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("S", "s1", "s2")
		r.try("P", "p")
		r.try("Q", "q")
		r.event(Event{"AssignedPod", UpdatePodLabel, ""})
		require.Equal(t, map[string]int{"P p": 1}, r.asked)
	})
	t.Run("a pod with two rejecters is moved once", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a")
		r.pop()
		r.fail("a", "P", "Q")
		require.Len(t, r.event(nodeAdd), 1)
	})
	t.Run("nobody registered it", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("P", "a")
		r.add("b")
		r.pop()
		require.Empty(t, r.event(Event{"Node", UpdateNodeCondition, ""}))
		require.Equal(t, map[string]int{"PodPopped": 1}, r.q.InFlightEvents(), "not even logged")
	})
	t.Run("wildcard", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("S", "a")
		r.shut["x g"] = true
		r.add("g")
		require.Equal(t, []string{"default/a: unschedulable -> backoff (Everything)"}, lines(r.event(Event{"*", All, "Everything"})), "a gated pod is not concerned")
	})
	t.Run("wildcard bound to a pod", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("S", "a", "b")
		r.q.Move(Change{Event: forceActivate, New: r.pod("b")}, r.now)
		r.is(Unschedulable, "a")
		r.is(Backoff, "b")
	})
	t.Run("a change of taints wakes plugins that hear of new nodes", func(t *testing.T) {
		for _, exact := range []bool{false, true} {
			r := newRig(t, Options{Release: release.V1_36, ExactRegistrations: exact, Profiles: map[string]Profile{defaultScheduler: {Events: DefaultEvents(map[string]Hint{"NodeResourcesFit": neverHelps, "TaintToleration": neverHelps}, release.V1_36)}}})
			r.try("NodeResourcesFit", "a")
			r.try("TaintToleration", "b")
			r.event(Event{"Node", UpdateNodeTaint, ""})
			r.is(Unschedulable, "b")
			if exact {
				r.is(Unschedulable, "a")
			} else {
				r.is(Backoff, "a")
			}
		}
	})
	t.Run("default preemption alone", func(t *testing.T) {
		r := newRig(t, Options{Profiles: map[string]Profile{defaultScheduler: {Events: DefaultEvents(nil, release.Current)}}})
		r.try("DefaultPreemption", "a")
		require.Empty(t, r.event(assignedPodDelete))
	})
	t.Run("priority at most", func(t *testing.T) {
		r := newRig(t, Options{})
		r.pods["high"] = testkit.Pod("high").Priority(9).Obj()
		r.try("P", "low", "high")
		r.q.Move(Change{Event: nodeAdd, PreCheck: func(p *v1.Pod) bool { return podinfo.Priority(p) <= 5 }}, r.now)
		r.is(Backoff, "low")
		r.is(Unschedulable, "high")
	})
}

func TestUpdate(t *testing.T) {
	t.Run("in flight", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a")
		r.pop()
		require.Empty(t, r.update("a", func(p *v1.Pod) { p.Labels = map[string]string{"l": "1"} }))
		require.Equal(t, map[string]int{"PodPopped": 1, "TargetPodUpdatePodLabel": 1}, r.q.InFlightEvents())
		require.Empty(t, r.pop(), "it is not queued a second time")
		r.fail("a", "P")
		r.is(Backoff, "a")
	})
	t.Run("active and backoff stay", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a")
		r.shut["x a"] = true
		require.Empty(t, r.update("a", func(p *v1.Pod) { p.Labels = map[string]string{"l": "1"} }))
		r.is(Active, "a")
		r.pop()
		r.shut["x a"] = false
		r.fail("a")
		e, _ := r.q.Lookup(r.pod("a"))
		expiry := e.BackoffExpiration
		require.Empty(t, r.update("a", func(p *v1.Pod) { p.Labels = map[string]string{"l": "2"} }))
		r.is(ErrorBackoff, "a")
		require.Equal(t, expiry, e.BackoffExpiration)
		require.Same(t, r.pods["a"], e.Pod)
	})
	t.Run("waiting", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("P", "a", "b")
		require.Empty(t, r.update("a", func(p *v1.Pod) { p.Annotations = map[string]string{"l": "1"} }), "P registered labels only")
		require.Empty(t, r.update("a", func(p *v1.Pod) { p.Status.Message = "?" }))
		require.Equal(t, []string{"default/a: unschedulable -> backoff (TargetPodUpdatePodLabel, P)"},
			lines(r.update("a", func(p *v1.Pod) { p.Labels = map[string]string{"l": "1"} })))
		r.is(Unschedulable, "b")
	})
	t.Run("a general update wakes a full registration", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("R", "a")
		require.Len(t, r.update("a", func(p *v1.Pod) { p.Annotations = map[string]string{"l": "1"} }), 1)
	})
	t.Run("gated pods need no event of their gate", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("P", "a")
		r.shut["x a"] = true
		r.event(nodeAdd)
		r.is(Gated, "a")
		r.shut["x a"] = false
		r.update("a", func(p *v1.Pod) { p.Labels = map[string]string{"l": "1"} })
		r.is(Backoff, "a")
	})
	t.Run("unknown", func(t *testing.T) {
		r := newRig(t, Options{})
		require.Equal(t, []string{"default/a: nowhere -> active (UnscheduledPodAdd)"}, lines(r.update("a", func(*v1.Pod) {})))
		moves, err := r.q.Update(nil, r.pod("b"), r.now)
		require.NoError(t, err)
		require.Len(t, moves, 1)
	})
	t.Run("another UID keeps the history up to v1.36", func(t *testing.T) {
		for _, split := range []bool{false, true} {
			r := newRig(t, Options{Release: release.V1_36, SplitRecreated: split})
			r.try("P", "a")
			r.update("a", func(p *v1.Pod) { p.UID = "other"; p.Annotations = map[string]string{"a": "b"} })
			e, _ := r.q.Lookup(r.pod("a"))
			require.Same(t, r.pods["a"], e.Pod)
			if split {
				require.Equal(t, []any{Active, 0}, []any{e.Place(), e.UnschedulableCount})
			} else {
				require.Equal(t, []any{Unschedulable, 1}, []any{e.Place(), e.UnschedulableCount})
			}
		}
	})
	t.Run("two names", func(t *testing.T) {
		r := newRig(t, Options{})
		_, err := r.q.Update(r.pod("a"), r.pod("b"), r.now)
		require.ErrorContains(t, err, "default/a")
	})
}

func TestDelete(t *testing.T) {
	r := newRig(t, Options{})
	require.Empty(t, r.q.Delete(r.pod("a")), "absent")
	r.try("P", "u")
	r.add("e")
	r.pop()
	r.fail("e")
	r.try("P", "b")
	r.q.Move(Change{Event: nodeAdd, PreCheck: func(p *v1.Pod) bool { return p.Name == "b" }}, r.now)
	r.add("a")
	require.Equal(t, 2, r.q.Rejected(defaultScheduler, "P"), "u and b")
	for _, n := range []string{"u", "e", "b", "a"} {
		require.Len(t, r.q.Delete(r.pod(n)), 1, n)
	}
	require.Equal(t, Counts{}, r.q.Counts())
	require.Zero(t, r.q.Rejected(defaultScheduler, "P"), "also after a deletion from backoff")
}

func TestActivate(t *testing.T) {
	r := newRig(t, Options{})
	r.try("P", "a", "b")
	r.shut["x a"] = true
	r.q.Activate(r.now, r.pod("a"))
	r.is(Gated, "a")
	r.event(nodeAdd)
	r.is(Backoff, "b")
	r.shut["x b"] = true
	require.Equal(t, []string{"default/b: backoff -> active (ForceActivate)"}, lines(r.q.Activate(r.now, r.pod("b"))), "no gate, no rest")
	e, _ := r.q.Lookup(r.pod("b"))
	require.Equal(t, noon, e.Timestamp)

	t.Run("in flight besides an active entry", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a")
		r.pop()
		r.add("a")
		require.Empty(t, r.q.Activate(r.now, r.pod("a")))
		r.q.Delete(r.pod("a"))
		require.Equal(t, map[string]int{"PodPopped": 1, "ForceActivate": 1}, r.q.InFlightEvents())
	})
	t.Run("one pod of a group", func(t *testing.T) {
		e, moves := r.q.PopPod(r.pod("a"), r.now)
		require.Nil(t, e)
		require.Empty(t, moves, "it stays gated")
		r.shut["x a"] = false
		e, moves = r.q.PopPod(r.pod("a"), r.now)
		require.Equal(t, "a", e.Pod.Name)
		require.Len(t, moves, 2)
		e, _ = r.q.PopPod(r.pod("a"), r.now)
		require.Nil(t, e, "it is in flight")
	})
}
