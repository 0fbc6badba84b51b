package queue

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

func TestOrder(t *testing.T) {
	t.Run("priority then time", func(t *testing.T) {
		r := newRig(t, Options{})
		r.pods["low"] = testkit.Pod("low").Priority(-1).Obj()
		r.pods["high"] = testkit.Pod("high").Priority(5).Obj()
		r.add("low", "none1")
		r.at(time.Second)
		r.add("none2", "high")
		require.Equal(t, []string{"high", "none1", "none2", "low"}, []string{r.pop(), r.pop(), r.pop(), r.pop()})
	})
	t.Run("ties by arrival", func(t *testing.T) {
		r := newRig(t, Options{})
		for i := range 50 {
			r.add(fmt.Sprintf("p%02d", i))
		}
		for i := range 50 {
			require.Equal(t, fmt.Sprintf("p%02d", i), r.pop())
		}
	})
	t.Run("one other order for all profiles", func(t *testing.T) {
		profiles := DefaultProfiles()
		profiles["other"] = Profile{}
		r := newRig(t, Options{Profiles: profiles, Less: func(a, b *Entry) bool { return a.Pod.Name > b.Pod.Name }})
		r.pods["b"] = testkit.Pod("b").Priority(100).Obj()
		r.pod("c").Spec.SchedulerName = "other"
		r.add("a", "b", "c")
		require.Equal(t, []string{"c", "b", "a"}, []string{r.pop(), r.pop(), r.pop()})
	})
	t.Run("a failed pod goes behind", func(t *testing.T) {
		r := newRig(t, Options{MaxBackoff: new(time.Duration)})
		r.add("a", "b")
		r.pop()
		r.at(time.Second)
		r.fail("a")
		require.Equal(t, []string{"b", "a"}, []string{r.pop(), r.pop()})
	})
	t.Run("a pod that waited keeps its time", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("P", "old")
		r.at(time.Minute)
		r.add("young")
		r.event(NodeAdd)
		require.Equal(t, "old", r.pop())
		e := r.held["old"]
		require.Equal(t, noon, e.Timestamp)
		require.Equal(t, noon, e.InitialAttemptTimestamp)
		require.Equal(t, 2, e.Attempts)
	})
	t.Run("a new priority sorts anew", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a", "b")
		require.Empty(t, r.update("b", func(p *v1.Pod) { p.Spec.Priority = ptr(int32(1)) }))
		require.Equal(t, "b", r.pop())
	})
	t.Run("first attempt is the first entry into active", func(t *testing.T) {
		r := newRig(t, Options{})
		r.shut["x a"] = true
		r.add("a")
		e, _ := r.q.Lookup(r.pod("a"))
		require.True(t, e.InitialAttemptTimestamp.IsZero(), "only gated so far")
		r.shut["x a"] = false
		r.at(time.Second)
		r.q.Activate(r.now, r.pod("a"))
		require.Equal(t, r.now, e.InitialAttemptTimestamp)
		require.Equal(t, noon, e.Timestamp)
	})
}

func TestBackoffDuration(t *testing.T) {
	s := time.Second
	for _, c := range []struct {
		name         string
		initial, max time.Duration
		count        int
		want         time.Duration
	}{
		{"default 1", s, 10 * s, 1, s}, {"default 2", s, 10 * s, 2, 2 * s}, {"default 3", s, 10 * s, 3, 4 * s},
		{"default 4", s, 10 * s, 4, 8 * s}, {"default 5", s, 10 * s, 5, 10 * s}, {"default 6", s, 10 * s, 6, 10 * s},
		{"three to ten 1", 3 * s, 10 * s, 1, 3 * s}, {"three to ten 2", 3 * s, 10 * s, 2, 6 * s}, {"three to ten 3", 3 * s, 10 * s, 3, 10 * s},
		{"no overflow", s, 10 * s, 201, 10 * s}, {"no overflow at the largest", s, math.MaxInt64, 63, math.MaxInt64},
		{"count of the largest int", s, 10 * s, math.MaxInt, 10 * s},
		{"initial above max", 5 * s, 3 * s, 1, 3 * s}, {"no backoff", s, 0, 3, 0}, {"never failed", s, 10 * s, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, BackoffDuration(c.initial, c.max, c.count)) })
	}
	t.Run("grows and stays in bounds", func(t *testing.T) {
		for _, initial := range []time.Duration{1, 7, time.Millisecond, s, 9 * s} {
			last := time.Duration(0)
			for count := 1; count < 100; count++ {
				d := BackoffDuration(initial, 10*s, count)
				require.GreaterOrEqual(t, d, last)
				require.GreaterOrEqual(t, d, initial)
				require.LessOrEqual(t, d, 10*s)
				last = d
			}
		}
	})
}

func TestBackoffExpiry(t *testing.T) {
	for _, c := range []struct {
		name         string
		failed, free time.Duration
	}{
		{"failed at .300", 300 * time.Millisecond, 2 * time.Second},
		{"failed at .999", 999 * time.Millisecond, 2 * time.Second},
		{"failed at .000", 0, 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			expiry := BackoffExpiry(noon.Add(c.failed), time.Second)
			require.True(t, BackingOff(expiry, noon.Add(c.free-1)))
			require.False(t, BackingOff(expiry, noon.Add(c.free)))
			require.GreaterOrEqual(t, c.free-c.failed, time.Second, "never less than the duration")
			require.LessOrEqual(t, c.free-c.failed, 2*time.Second)
		})
	}
	require.False(t, BackingOff(BackoffExpiry(noon, 0), noon), "no duration, no backoff")
}

func TestBackoffCounts(t *testing.T) {
	r := newRig(t, Options{})
	r.add("a")
	var got []time.Duration
	for _, rejected := range []bool{true, true, false, false, true} {
		require.Equal(t, "a", r.pop())
		if rejected {
			r.fail("a", "S")
		} else {
			r.fail("a")
		}
		got = append(got, r.q.Explain(r.pod("a"), r.now).Backoff/time.Second)
		r.now = r.now.Add(time.Hour)
		r.q.Advance(r.now)
	}
	require.Equal(t, []time.Duration{1, 2, 1, 2, 4}, got, "errors do not add to rejections, which are never reset")
}

func TestBackoffOptions(t *testing.T) {
	t.Run("no backoff", func(t *testing.T) {
		r := newRig(t, Options{MaxBackoff: new(time.Duration)})
		r.add("a")
		r.pop()
		r.fail("a")
		r.is(Active, "a")
	})
	t.Run("wait out backoff", func(t *testing.T) {
		r := newRig(t, Options{WaitOutBackoff: true})
		r.at(300 * time.Millisecond)
		r.try("P", "a")
		r.event(NodeAdd)
		r.is(Backoff, "a")
		require.Empty(t, r.pop(), "not popped early")
		next, _ := r.q.Next(r.now)
		require.Equal(t, noon.Add(1300*time.Millisecond+1), next, "not cut down to the second; equality rests")
		r.now = next.Add(-1)
		require.Empty(t, r.q.Advance(r.now))
		r.now = next
		require.Len(t, r.q.Advance(r.now), 1)
	})
	t.Run("error backoff is never popped early", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a")
		r.pop()
		r.fail("a")
		require.Empty(t, r.pop())
	})
	t.Run("gates are not asked at the end of a backoff", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("P", "a", "b")
		r.event(NodeAdd)
		r.shut["x a"], r.shut["x b"] = true, true
		require.Equal(t, "a", r.pop(), "nor at an early pop")
		r.at(time.Minute)
		r.q.Advance(r.now)
		require.Equal(t, "b", r.pop())
	})
}

func TestAdd(t *testing.T) {
	t.Run("the same key waiting loses its history", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("P", "a")
		r.add("a")
		e, _ := r.q.Lookup(r.pod("a"))
		require.Equal(t, []any{Active, 0}, []any{e.Place(), e.UnschedulableCount})
		require.Zero(t, r.q.Rejected(DefaultScheduler, "P"))
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
	r.event(NodeAdd)
	r.pop()
	r.event(NodeAdd)
	r.event(Event{Node, UpdateNodeCondition, ""})
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
	label := Event{AssignedPod, UpdatePodLabel, ""}
	for _, c := range []struct {
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
	}{
		{name: "error", want: ErrorBackoff},
		{name: "error and an event", during: []Event{NodeAdd}, want: ErrorBackoff},
		{name: "rejected and nothing happens", plugins: []string{"P"}, want: Unschedulable},
		{name: "rejected and an event before the pop", plugins: []string{"P"}, before: []Event{NodeAdd}, want: Unschedulable},
		{name: "rejected and the hint skips", plugins: []string{"P"}, skips: []string{"P"}, during: []Event{NodeAdd}, want: Unschedulable},
		{name: "rejected and an event of others", plugins: []string{"Q"}, during: []Event{label}, want: Unschedulable},
		{name: "rejected and the hint queues", plugins: []string{"P"}, during: []Event{NodeAdd}, want: Backoff},
		{name: "rejected and the hint fails", plugins: []string{"P"}, skips: []string{"P"}, broken: "P", during: []Event{NodeAdd}, want: Backoff},
		{name: "rejected and there is no hint", plugins: []string{"R"}, during: []Event{NodeAdd}, want: Backoff},
		{name: "pending and the hint queues", pending: []string{"P"}, during: []Event{NodeAdd}, want: Active},
		{name: "pending and nothing happens", pending: []string{"P"}, want: Unschedulable},
		{name: "pending and the hint skips", pending: []string{"P"}, skips: []string{"P"}, during: []Event{NodeAdd}, want: Unschedulable},
		{name: "rejector queues and pending skips", plugins: []string{"Q"}, pending: []string{"P"}, skips: []string{"P"}, during: []Event{NodeAdd}, want: Backoff},
		{name: "pending queues after a rejector did", plugins: []string{"R"}, pending: []string{"P"}, during: []Event{{AssignedPod, UpdatePodScaleDown, ""}, NodeAdd}, want: Active},
		{name: "activated", plugins: []string{"S"}, activate: true, want: Backoff},
		{name: "pending and activated", pending: []string{"P"}, activate: true, want: Backoff},
		{name: "unknown profile and an event", plugins: []string{"S"}, profile: "nobody's", during: []Event{NodeAdd}, want: Backoff},
		{name: "unknown profile and nothing", plugins: []string{"S"}, profile: "nobody's", want: Unschedulable},
		{name: "the empty plugin name", plugins: []string{""}, during: []Event{NodeAdd}, want: Unschedulable},
	} {
		t.Run(c.name, func(t *testing.T) {
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
			moves, err := r.q.Return(r.held["a"], Failure{Unschedulable: c.plugins, Pending: c.pending}, r.now)
			require.NoError(t, err)
			require.Len(t, moves, 1)
			require.Equal(t, InFlight, moves[0].From)
			require.Equal(t, c.want, moves[0].To)
			require.Equal(t, ScheduleAttemptFailure, moves[0].Reason)
			if c.broken != "" {
				require.ErrorIs(t, moves[0].Err, errBroken)
			}
		})
	}
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
		r.event(NodeAdd)
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

func TestMove(t *testing.T) {
	t.Run("backoff is never looked at", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("P", "a")
		r.event(NodeAdd)
		asked := r.asked["P a"]
		require.Empty(t, r.event(NodeAdd))
		require.Equal(t, asked, r.asked["P a"])
	})
	t.Run("only pods that wait for it are asked", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("S", "s1", "s2")
		r.try("P", "p")
		r.try("Q", "q")
		r.event(Event{AssignedPod, UpdatePodLabel, ""})
		require.Equal(t, map[string]int{"P p": 1}, r.asked)
	})
	t.Run("a pod with two rejectors is moved once", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a")
		r.pop()
		r.fail("a", "P", "Q")
		require.Len(t, r.event(NodeAdd), 1)
	})
	t.Run("nobody registered it", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("P", "a")
		r.add("b")
		r.pop()
		require.Empty(t, r.event(Event{Node, UpdateNodeCondition, ""}))
		require.Equal(t, map[string]int{"PodPopped": 1}, r.q.InFlightEvents(), "not even logged")
	})
	t.Run("wildcard", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("S", "a")
		r.shut["x g"] = true
		r.add("g")
		require.Equal(t, []string{"default/a: unschedulable -> backoff (Everything)"}, lines(r.event(Event{Wildcard, All, "Everything"})), "a gated pod is not concerned")
	})
	t.Run("wildcard bound to a pod", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("S", "a", "b")
		r.q.Move(Change{Event: ForceActivate, New: r.pod("b")}, r.now)
		r.is(Unschedulable, "a")
		r.is(Backoff, "b")
	})
	t.Run("a change of taints wakes plugins that hear of new nodes", func(t *testing.T) {
		for _, exact := range []bool{false, true} {
			r := newRig(t, Options{ExactRegistrations: exact, Profiles: map[string]Profile{DefaultScheduler: {Events: WithHints(DefaultEvents(), map[string]Hint{"NodeResourcesFit": NeverHelps, "TaintToleration": NeverHelps})}}})
			r.try("NodeResourcesFit", "a")
			r.try("TaintToleration", "b")
			r.event(Event{Node, UpdateNodeTaint, ""})
			r.is(Unschedulable, "b")
			if exact {
				r.is(Unschedulable, "a")
			} else {
				r.is(Backoff, "a")
			}
		}
	})
	t.Run("default preemption alone", func(t *testing.T) {
		r := newRig(t, Options{Profiles: map[string]Profile{DefaultScheduler: {Events: DefaultEvents()}}})
		r.try("DefaultPreemption", "a")
		require.Empty(t, r.event(AssignedPodDelete))
	})
	t.Run("priority at most", func(t *testing.T) {
		r := newRig(t, Options{})
		r.pods["high"] = testkit.Pod("high").Priority(9).Obj()
		r.try("P", "low", "high")
		r.q.Move(Change{Event: NodeAdd, PreCheck: PriorityAtMost(5)}, r.now)
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
		require.Equal(t, map[string]int{"PodPopped": 1, "UnschedulablePodUpdatePodLabel": 1}, r.q.InFlightEvents())
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
		require.Equal(t, []string{"default/a: unschedulable -> backoff (UnschedulablePodUpdatePodLabel, P)"},
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
		r.event(NodeAdd)
		r.is(Gated, "a")
		r.shut["x a"] = false
		r.update("a", func(p *v1.Pod) { p.Labels = map[string]string{"l": "1"} })
		r.is(Backoff, "a")
	})
	t.Run("unknown", func(t *testing.T) {
		r := newRig(t, Options{})
		require.Equal(t, []string{"default/a: nowhere -> active (UnschedulablePodUpdate)"}, lines(r.update("a", func(*v1.Pod) {})))
		moves, err := r.q.Update(nil, r.pod("b"), r.now)
		require.NoError(t, err)
		require.Len(t, moves, 1)
	})
	t.Run("another UID keeps the history", func(t *testing.T) {
		for _, split := range []bool{false, true} {
			r := newRig(t, Options{SplitRecreated: split})
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
	r.q.Move(Change{Event: NodeAdd, PreCheck: func(p *v1.Pod) bool { return p.Name == "b" }}, r.now)
	r.add("a")
	require.Equal(t, 2, r.q.Rejected(DefaultScheduler, "P"), "u and b")
	for _, n := range []string{"u", "e", "b", "a"} {
		require.Len(t, r.q.Delete(r.pod(n)), 1, n)
	}
	require.Equal(t, Counts{}, r.q.Counts())
	require.Zero(t, r.q.Rejected(DefaultScheduler, "P"), "also after a deletion from backoff")
}

func TestActivate(t *testing.T) {
	r := newRig(t, Options{})
	r.try("P", "a", "b")
	r.shut["x a"] = true
	r.q.Activate(r.now, r.pod("a"))
	r.is(Gated, "a")
	r.event(NodeAdd)
	r.is(Backoff, "b")
	r.shut["x b"] = true
	require.Equal(t, []string{"default/b: backoff -> active (ForceActivate)"}, lines(r.q.Activate(r.now, r.pod("b"))), "no gate, no rest")
	e, _ := r.q.Lookup(r.pod("b"))
	require.Equal(t, noon, e.Timestamp)

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

func TestLeftover(t *testing.T) {
	t.Run("strictly more than the limit", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("S", "a")
		r.at(5 * time.Minute)
		require.Empty(t, r.q.FlushLeftover(r.now), "exactly 5 minutes stay")
		r.at(5*time.Minute + 1)
		require.Equal(t, []string{"default/a: unschedulable -> active (UnschedulableTimeout)"}, lines(r.q.FlushLeftover(r.now)))
		e, _ := r.q.Lookup(r.pod("a"))
		require.True(t, e.WasFlushed)
		r.pop()
		r.fail("a", "S")
		require.False(t, e.WasFlushed)
	})
	t.Run("every 30 seconds", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a")
		r.at(10 * time.Second)
		r.pop()
		r.fail("a", "S")
		next, ok := r.q.Next(r.now)
		require.True(t, ok)
		require.Equal(t, noon.Add(5*time.Minute+30*time.Second), next)
		r.at(5*time.Minute + 20*time.Second)
		require.Empty(t, r.q.Advance(r.now), "between two flushes")
		r.now = next
		require.Len(t, r.q.Advance(r.now), 1)
	})
	t.Run("a parameter", func(t *testing.T) {
		r := newRig(t, Options{Leftover: time.Second, LeftoverPeriod: time.Second})
		r.try("S", "a")
		r.at(2 * time.Second)
		require.Len(t, r.q.Advance(r.now), 1)
	})
	t.Run("into backoff when the rest is longer", func(t *testing.T) {
		r := newRig(t, Options{MaxBackoff: ptr(time.Hour), InitialBackoff: time.Hour})
		r.try("S", "a")
		r.at(6 * time.Minute)
		require.Equal(t, []string{"default/a: unschedulable -> backoff (UnschedulableTimeout)"}, lines(r.q.Advance(r.now)))
	})
	t.Run("gated pods", func(t *testing.T) {
		for _, flush := range []bool{false, true} {
			r := newRig(t, Options{FlushGated: flush})
			r.shut["x a"] = true
			r.add("a")
			_, ok := r.q.Next(r.now)
			require.Equal(t, flush, ok)
			r.shut["x a"] = false
			r.at(6 * time.Minute)
			r.q.Advance(r.now)
			e, _ := r.q.Lookup(r.pod("a"))
			require.True(t, e.WasFlushed, "the flag is set in any case")
			if flush {
				r.is(Active, "a")
			} else {
				r.is(Gated, "a")
			}
		}
	})
	t.Run("a gate that hears everything", func(t *testing.T) {
		open := false
		g := Gate{"g", func(*v1.Pod) GateVerdict { return GateVerdict{Refuse: !open} }}
		r := newRig(t, Options{Profiles: map[string]Profile{DefaultScheduler: {Gates: []Gate{g}, Events: []Registration{{"g", Event{Wildcard, All, ""}, nil}}}}})
		r.add("a")
		open = true
		r.at(6 * time.Minute)
		require.Len(t, r.q.Advance(r.now), 1)
	})
	t.Run("clock jumps back", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("S", "a")
		r.at(-time.Hour)
		require.Empty(t, r.q.Advance(r.now))
		r.try("S", "b")
		next, _ := r.q.Next(r.now)
		require.Equal(t, noon.Add(-time.Hour+5*time.Minute+30*time.Second), next)
		r.now = next
		require.Len(t, r.q.Advance(r.now), 1)
		r.is(Unschedulable, "a")
	})
	t.Run("clock jumps back between two calls", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a")
		r.at(time.Hour)
		r.q.Advance(r.now)
		r.at(time.Minute)
		r.pop()
		r.fail("a", "S")
		next, _ := r.q.Next(r.now)
		require.Equal(t, noon.Add(6*time.Minute+30*time.Second), next, "not an hour later")
		r.now = next
		require.Len(t, r.q.Advance(r.now), 1)
	})
}

func TestGates(t *testing.T) {
	t.Run("the holding gate is asked first", func(t *testing.T) {
		r := newRig(t, Options{})
		r.shut["y a"] = true
		r.add("a")
		r.q.Activate(r.now, r.pod("a"))
		require.Equal(t, map[string]int{"x a": 1, "y a": 2}, r.gates)
	})
	t.Run("first refusal stops", func(t *testing.T) {
		r := newRig(t, Options{})
		r.shut["x a"] = true
		r.add("a")
		require.Zero(t, r.gates["y a"])
	})
	t.Run("an error gates", func(t *testing.T) {
		g := Gate{"g", func(*v1.Pod) GateVerdict { return GateVerdict{Err: errBroken} }}
		r := newRig(t, Options{Profiles: map[string]Profile{DefaultScheduler: {Gates: []Gate{g}}}})
		moves := r.add("a")
		require.Equal(t, []string{"default/a: nowhere -> gated (UnschedulablePodAdd, g: broken)"}, lines(moves))
		require.ErrorIs(t, r.q.Explain(r.pod("a"), r.now).GateErr, errBroken)
	})
	t.Run("the verdict of all rejectors", func(t *testing.T) {
		r := newRig(t, Options{Profiles: map[string]Profile{DefaultScheduler: {Gates: []Gate{newRig(t, Options{}).gate("never")}}}})
		r.add("a")
		r.is(Active, "a")

		r = newRig(t, Options{})
		r.shut["x a"] = true
		r.add("a")
		r.event(Event{Node, UpdateNodeLabel, ""})
		require.Equal(t, 1, r.gates["x a"], "an event of y asks nobody")
		r.event(Event{Node, UpdateNodeAnnotation, ""})
		require.Equal(t, 2, r.gates["x a"])
	})
	t.Run("the name stays after the gate opened", func(t *testing.T) {
		r := newRig(t, Options{})
		r.shut["x a"] = true
		r.add("a")
		r.shut["x a"] = false
		r.q.Activate(r.now, r.pod("a"))
		e, _ := r.q.Lookup(r.pod("a"))
		require.Equal(t, []string{"x"}, e.UnschedulablePlugins)
		require.Empty(t, e.GatingPlugin)
		r.pop()
		require.Equal(t, []string{"x"}, e.UnschedulablePlugins)
		r.fail("a", "P")
		require.Equal(t, []string{"P"}, e.UnschedulablePlugins)
	})
	t.Run("unknown profile has no gates", func(t *testing.T) {
		r := newRig(t, Options{})
		r.pod("a").Spec.SchedulerName = "nobody's"
		r.shut["x a"] = true
		r.add("a")
		r.is(Active, "a")
	})
	t.Run("spec.schedulingGates", func(t *testing.T) {
		g := SchedulingGates()
		require.Zero(t, g.Check(&v1.Pod{}))
		p := &v1.Pod{Spec: v1.PodSpec{SchedulingGates: []v1.PodSchedulingGate{{Name: "a"}, {Name: "b"}}}}
		require.Equal(t, GateVerdict{Refuse: true, Message: "waiting for scheduling gates: [a b]"}, g.Check(p))
	})
}

func TestMetrics(t *testing.T) {
	r := newRig(t, Options{})
	r.try("P", "u1", "u2")
	r.try("Q", "b")
	r.shut["x g"] = true
	r.add("g", "a", "f", "e")
	r.q.Move(Change{Event: NodeAdd, PreCheck: func(p *v1.Pod) bool { return p.Name == "b" }}, r.now)
	r.pop() // a
	r.pop() // f
	r.pop() // e
	r.fail("e")
	r.q.Done(r.pod("a"))
	require.Equal(t, Counts{Active: 0, Backoff: 2, Unschedulable: 2, Gated: 1, InFlight: 1}, r.q.Counts())
	require.Equal(t, 5, r.q.Counts().Queued())
	require.Equal(t, []int{2, 1, 1, 0, 0}, []int{r.q.Rejected(DefaultScheduler, "P"), r.q.Rejected(DefaultScheduler, "Q"), r.q.Rejected(DefaultScheduler, "x"), r.q.Rejected(DefaultScheduler, "y"), r.q.Rejected("nobody's", "P")})
	r.pop()
	require.Zero(t, r.q.Rejected(DefaultScheduler, "Q"), "a popped pod counts nowhere")
}

func TestValidate(t *testing.T) {
	bad := func(o Options, want string) {
		t.Helper()
		_, err := New(o)
		require.ErrorContains(t, err, want)
	}
	bad(Options{InitialBackoff: -1}, "initialBackoff: Invalid value: \"-1ns\"")
	bad(Options{MaxBackoff: ptr(-time.Second)}, "maxBackoff: Invalid value: \"-1s\"")
	bad(Options{MaxBackoff: ptr(time.Millisecond)}, "greater than or equal to initialBackoff 1s")
	bad(Options{Leftover: -1}, "leftover")
	bad(Options{LeftoverPeriod: -1}, "leftoverPeriod")
	bad(Options{Profiles: map[string]Profile{"p": {Gates: []Gate{{}}}}}, "profiles[p].gates[0].name: Required value")
	bad(Options{Profiles: map[string]Profile{"p": {Gates: []Gate{{Name: "g"}}}}}, "profiles[p].gates[0].check: Required value")
	bad(Options{Profiles: map[string]Profile{"p": {Events: []Registration{{"", NodeAdd, nil}}}}}, "profiles[p].events[0].plugin: Required value")
	bad(Options{Profiles: map[string]Profile{"p": {Events: []Registration{{"P", Event{"", Add, ""}, nil}}}}}, "profiles[p].events[0].event.resource: Required value")
	bad(Options{Profiles: map[string]Profile{"p": {Events: []Registration{{"P", Event{Node, 0, ""}, nil}}}}}, "must be a mask from 1 to 8191")
	_, err := New(Options{MaxBackoff: new(time.Duration)})
	require.NoError(t, err, "zero is no backoff")
}

func TestArgumentsStay(t *testing.T) {
	r := newRig(t, Options{ShareFailures: true})
	a, b := testkit.Pod("a").Priority(3).Request("cpu=1").Obj(), testkit.Pod("b").Obj()
	newer := a.DeepCopy()
	newer.Labels = map[string]string{"k": "v"}
	node := testkit.Node("n").Obj()
	plugins := []string{"Q", "P", "Q"}
	r.pods["a"], r.pods["b"] = a, b
	testkit.Unchanged(t, func() {
		r.add("a", "b")
		r.pop()
		_, err := r.q.Return(r.held["a"], Failure{Unschedulable: plugins}, r.now)
		require.NoError(t, err)
		_, err = r.q.Update(a, newer, r.now)
		require.NoError(t, err)
		r.q.Move(Change{Event: NodeAdd, New: node}, r.now)
		r.q.All(r.now)
		_ = r.q.Explain(a, r.now).String()
	}, a, b, newer)
	require.Equal(t, []string{"Q", "P", "Q"}, plugins)
}
