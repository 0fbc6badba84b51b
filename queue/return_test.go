package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

func TestAdd(t *testing.T) {
	t.Run("the same key waiting loses its history", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("P", "a")
		r.add("a")
		e, _ := r.q.Lookup(r.pod("a"))
		require.Equal(t, []any{Active, 0}, []any{e.Place(), e.UnschedulableCount})
		require.Zero(t, r.q.Rejected(defaultScheduler, "P"))
	})
	t.Run("gated over active is ignored", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a")
		r.shut["x a"] = true
		require.Empty(t, r.add("a"))
		r.is(Active, "a")
		r.pop()
		r.shut["x a"] = false
		r.fail("a")
		r.shut["x a"] = true
		require.Empty(t, r.add("a"))
		r.is(ErrorBackoff, "a")
	})
	t.Run("nil", func(t *testing.T) {
		r := newRig(t, Options{})
		_, err := r.q.Add(nil, r.now)
		require.Error(t, err)
		_, err = r.q.Update(r.pod("a"), nil, r.now)
		require.Error(t, err)
		_, err = r.q.Return(nil, Failure{}, r.now)
		require.Error(t, err)
		require.Empty(t, r.q.Delete(nil))
		require.Empty(t, r.q.Done(nil))
	})
	t.Run("same name in two namespaces", func(t *testing.T) {
		r := newRig(t, Options{})
		r.pods["b"] = testkit.Pod("other/a").Obj()
		r.add("a", "b")
		require.Equal(t, 2, r.q.Counts().Active)
	})
	t.Run("empty UIDs fly by their names", func(t *testing.T) {
		r := newRig(t, Options{})
		r.pod("a").UID, r.pod("b").UID = "", ""
		r.add("a", "b")
		require.Equal(t, []string{"a", "b"}, []string{r.pop(), r.pop()})
		require.Equal(t, 2, r.q.Counts().InFlight)
	})
}

func TestDone(t *testing.T) {
	r := newRig(t, Options{})
	r.add("a", "b")
	r.pop()
	r.event(nodeAdd)
	r.pop()
	r.event(nodeAdd)
	r.event(Event{"Node", UpdateNodeCondition, ""})
	require.Equal(t, map[string]int{"PodPopped": 2, "NodeAdd": 2}, r.q.InFlightEvents(), "nobody registered conditions")
	require.Len(t, r.q.Done(r.pod("a")), 1)
	require.Equal(t, map[string]int{"PodPopped": 1, "NodeAdd": 1}, r.q.InFlightEvents(), "events before the oldest pod in flight go")
	require.Empty(t, r.q.Done(r.pod("a")), "repeatable")
	r.q.Done(r.pod("b"))
	require.Empty(t, r.q.InFlightEvents())
	require.Empty(t, r.q.events)
	r.fail("a", "P")
	r.is(Backoff, "a")
}

// Which place a failed attempt leads to.
func TestReturn(t *testing.T) {
	label := Event{"AssignedPod", UpdatePodLabel, ""}
	type test struct {
		name     string
		plugins  []string
		pending  []string
		skips    []string
		broken   string
		before   []Event
		during   []Event
		activate bool
		profile  string
		want     Place
	}
	testkit.Run(t, []test{
		{name: "error", want: ErrorBackoff},
		{name: "error and an event", during: []Event{nodeAdd}, want: ErrorBackoff},
		{name: "rejected and nothing happens", plugins: []string{"P"}, want: Unschedulable},
		{name: "rejected and an event before the pop", plugins: []string{"P"}, before: []Event{nodeAdd}, want: Unschedulable},
		{name: "rejected and the hint skips", plugins: []string{"P"}, skips: []string{"P"}, during: []Event{nodeAdd}, want: Unschedulable},
		{name: "rejected and an event of others", plugins: []string{"Q"}, during: []Event{label}, want: Unschedulable},
		{name: "rejected and the hint queues", plugins: []string{"P"}, during: []Event{nodeAdd}, want: Backoff},
		{name: "rejected and the hint fails", plugins: []string{"P"}, skips: []string{"P"}, broken: "P", during: []Event{nodeAdd}, want: Backoff},
		{name: "rejected and there is no hint", plugins: []string{"R"}, during: []Event{nodeAdd}, want: Backoff},
		{name: "pending and the hint queues", pending: []string{"P"}, during: []Event{nodeAdd}, want: Active},
		{name: "pending and nothing happens", pending: []string{"P"}, want: Unschedulable},
		{name: "pending and the hint skips", pending: []string{"P"}, skips: []string{"P"}, during: []Event{nodeAdd}, want: Unschedulable},
		{name: "rejector queues and pending skips", plugins: []string{"Q"}, pending: []string{"P"}, skips: []string{"P"}, during: []Event{nodeAdd}, want: Backoff},
		{name: "pending queues after a rejector did", plugins: []string{"R"}, pending: []string{"P"}, during: []Event{{"AssignedPod", UpdatePodScaleDown, ""}, nodeAdd}, want: Active},
		{name: "activated", plugins: []string{"S"}, activate: true, want: Backoff},
		{name: "pending and activated", pending: []string{"P"}, activate: true, want: Backoff},
		{name: "unknown profile and an event", plugins: []string{"S"}, profile: "nobody's", during: []Event{nodeAdd}, want: Backoff},
		{name: "unknown profile and nothing", plugins: []string{"S"}, profile: "nobody's", want: Unschedulable},
		{name: "the empty plugin name", plugins: []string{""}, during: []Event{nodeAdd}, want: Unschedulable},
	}, func(t *testing.T, c test) {
		r := newRig(t, Options{})
		if c.profile != "" {
			r.pod("a").Spec.SchedulerName = c.profile
		}
		for _, p := range c.skips {
			r.skips[p] = true
		}
		if c.broken != "" {
			r.errs[c.broken] = errBroken
		}
		r.add("a")
		for _, e := range c.before {
			r.event(e)
		}
		r.pop()
		for _, e := range c.during {
			r.event(e)
		}
		if c.activate {
			r.q.Activate(r.now, r.pod("a"))
		}
		moves, err := r.q.Return(r.held["a"], Failure{Rejecters: c.plugins, Pending: c.pending}, r.now)
		require.NoError(t, err)
		require.Len(t, moves, 1)
		require.Equal(t, InFlight, moves[0].From)
		require.Equal(t, c.want, moves[0].To)
		require.Equal(t, scheduleAttemptFailure, moves[0].Reason)
		if c.broken != "" {
			require.ErrorIs(t, moves[0].Err, errBroken)
		}
	})
	t.Run("after Done", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a")
		r.pop()
		r.q.Done(r.pod("a"))
		r.fail("a", "P")
		r.is(Backoff, "a")
	})
	t.Run("gang", func(t *testing.T) {
		r := newRig(t, Options{GangScheduling: true})
		r.pod("a").Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: ptr("g")}
		r.add("a")
		r.pop()
		r.fail("a", "P")
		r.is(Backoff, "a")
	})
	t.Run("refused by a gate", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a")
		r.pop()
		r.shut["x a"] = true
		r.fail("a")
		r.is(Gated, "a")
	})
	t.Run("no gate on the way to unschedulable", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a")
		r.pop()
		r.shut["x a"] = true
		r.fail("a", "P")
		r.is(Unschedulable, "a")
	})
	t.Run("already present", func(t *testing.T) {
		for place, text := range map[Place]string{Unschedulable: "unschedulable", Active: "the active", Backoff: "the backoff"} {
			r := newRig(t, Options{})
			r.add("a")
			r.pop()
			first := r.held["a"]
			again := r.pod("a").DeepCopy()
			again.UID = "again"
			r.pods["a"] = again
			r.add("a")
			switch place {
			case Unschedulable:
				r.pop()
				r.fail("a", "P")
			case Backoff:
				r.pop()
				r.fail("a")
			}
			_, err := r.q.Return(first, Failure{}, r.now)
			require.EqualError(t, err, "Pod default/a is already present in "+text+" queue")
			require.Zero(t, first.ConsecutiveErrorsCount, "nothing is counted")
			require.Zero(t, r.q.Counts().InFlight)
		}
	})
	t.Run("the entry's pod unless another is given", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a")
		r.pop()
		old := r.pod("a")
		r.update("a", func(p *v1.Pod) { p.Labels = map[string]string{"new": "yes"} })
		r.fail("a", "P")
		e, _ := r.q.Lookup(old)
		require.Same(t, old, e.Pod, "updates in flight are not merged")
		r.at(time.Minute)
		r.event(nodeAdd)
		r.pop()
		_, err := r.q.Return(e, Failure{Pod: r.pods["a"]}, r.now)
		require.NoError(t, err)
		require.Same(t, r.pods["a"], e.Pod)
	})
	t.Run("another pod is refused", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a")
		r.pop()
		moves, err := r.q.Return(r.held["a"], Failure{Pod: r.pod("b")}, r.now)
		require.ErrorContains(t, err, "default/b")
		require.Equal(t, []string{"default/a: in flight -> nowhere (AttemptDone)"}, lines(moves))
	})
	t.Run("deleted in flight", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a")
		r.pop()
		require.Empty(t, r.q.Delete(r.pod("a")))
		moves, err := r.q.Return(r.held["a"], Failure{}, r.now)
		require.NoError(t, err)
		require.Equal(t, []string{"default/a: in flight -> nowhere (PodDeleted)"}, lines(moves))
		require.Equal(t, Counts{}, r.q.Counts())
	})
}
