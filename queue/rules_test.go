package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

func TestLeftover(t *testing.T) {
	t.Run("strictly more than the limit", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("S", "a")
		r.at(5 * time.Minute)
		require.Empty(t, r.q.flushLeftovers(r.now), "exactly 5 minutes stay")
		r.at(5*time.Minute + 1)
		require.Equal(t, []string{"default/a: unschedulable -> active (UnschedulableTimeout)"}, lines(r.q.flushLeftovers(r.now)))
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
			r := newRig(t, Options{Release: release.V1_36, FlushGated: flush})
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
	t.Run("pods in flight take it as their event", func(t *testing.T) {
		for _, gated := range []bool{false, true} {
			r := newRig(t, Options{})
			if gated {
				r.shut["x old"] = true
				r.add("old")
			} else {
				r.try("S", "old")
			}
			r.at(6 * time.Minute)
			r.add("a")
			r.pop()
			r.q.flushLeftovers(r.now)
			r.fail("a", "S")
			r.is(Backoff, "a")
		}
	})
	t.Run("a gate that hears everything", func(t *testing.T) {
		open := false
		g := Gate{"g", func(*v1.Pod) GateVerdict { return GateVerdict{Refuse: !open} }}
		r := newRig(t, Options{Profiles: map[string]Profile{defaultScheduler: {Gates: []Gate{g}, Events: []Registration{{"g", Event{"*", All, ""}, nil}}}}})
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
		r.shut["y a"] = false
		r.q.Activate(r.now, r.pod("a"))
		require.Equal(t, map[string]int{"x a": 2, "y a": 3}, r.gates, "each once")
	})
	t.Run("first refusal stops", func(t *testing.T) {
		r := newRig(t, Options{})
		r.shut["x a"] = true
		r.add("a")
		require.Zero(t, r.gates["y a"])
	})
	t.Run("an error gates", func(t *testing.T) {
		g := Gate{"g", func(*v1.Pod) GateVerdict { return GateVerdict{Err: errBroken} }}
		r := newRig(t, Options{Profiles: map[string]Profile{defaultScheduler: {Gates: []Gate{g}}}})
		moves := r.add("a")
		require.Equal(t, []string{"default/a: nowhere -> gated (UnscheduledPodAdd, g: broken)"}, lines(moves))
		require.ErrorIs(t, r.q.Explain(r.pod("a"), r.now).GateErr, errBroken)
	})
	t.Run("the verdict of all rejecters", func(t *testing.T) {
		r := newRig(t, Options{Profiles: map[string]Profile{defaultScheduler: {Gates: []Gate{newRig(t, Options{}).gate("never")}}}})
		r.add("a")
		r.is(Active, "a")

		r = newRig(t, Options{})
		r.shut["x a"] = true
		r.add("a")
		r.event(Event{"Node", UpdateNodeLabel, ""})
		require.Equal(t, 1, r.gates["x a"], "an event of y asks no gate")
		r.event(Event{"Node", UpdateNodeAnnotation, ""})
		require.Equal(t, 2, r.gates["x a"])
	})
	t.Run("events of a gate count in all profiles", func(t *testing.T) {
		r := newRig(t, Options{})
		shut := map[string]bool{"a": true}
		g := Gate{"g", func(p *v1.Pod) GateVerdict { return GateVerdict{Refuse: shut[p.Name]} }}
		q, err := New(Options{Profiles: map[string]Profile{defaultScheduler: {Gates: []Gate{g}, Events: []Registration{{"g", Event{"*", Add, ""}, nil}}},
			"other": {Events: []Registration{{"g", Event{"*", All, ""}, nil}}}}})
		require.NoError(t, err)
		r.q = q
		r.add("a")
		shut["a"] = false
		r.event(Event{"*", All, "Everything"})
		r.is(Active, "a")
	})
	t.Run("registrations count in their profile only", func(t *testing.T) {
		r := newRig(t, Options{Profiles: map[string]Profile{
			defaultScheduler: {Events: []Registration{{"P", Event{"Node", Add, ""}, nil}}},
			"other":          {Events: []Registration{{"P", Event{"Pod", Delete, ""}, nil}}},
		}})
		r.pod("b").Spec.SchedulerName = "other"
		r.try("P", "a", "b")
		require.Equal(t, []string{"default/a: unschedulable -> backoff (NodeAdd, P)"}, lines(r.event(nodeAdd)), "P of the other profile did not register it")
		require.Equal(t, []string{"default/b: unschedulable -> backoff (AssignedPodDelete, P)"}, lines(r.event(assignedPodDelete)))
	})
	t.Run("the name stays after the gate opened", func(t *testing.T) {
		r := newRig(t, Options{})
		r.shut["x a"] = true
		r.add("a")
		r.shut["x a"] = false
		r.q.Activate(r.now, r.pod("a"))
		e, _ := r.q.Lookup(r.pod("a"))
		require.Equal(t, []string{"x"}, e.Rejecters)
		require.Empty(t, e.GatingPlugin)
		r.pop()
		require.Equal(t, []string{"x"}, e.Rejecters)
		r.fail("a", "P")
		require.Equal(t, []string{"P"}, e.Rejecters)
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
	r.q.Move(Change{Event: nodeAdd, PreCheck: func(p *v1.Pod) bool { return p.Name == "b" }}, r.now)
	r.pop() // a
	r.pop() // f
	r.pop() // e
	r.fail("e")
	r.q.Done(r.pod("a"))
	require.Equal(t, Counts{Active: 0, Backoff: 2, Unschedulable: 2, Gated: 1, InFlight: 1}, r.q.Counts())
	require.Equal(t, 5, r.q.Counts().queued())
	require.Equal(t, []int{2, 1, 1, 0, 0}, []int{r.q.Rejected(defaultScheduler, "P"), r.q.Rejected(defaultScheduler, "Q"), r.q.Rejected(defaultScheduler, "x"), r.q.Rejected(defaultScheduler, "y"), r.q.Rejected("nobody's", "P")})
	r.pop()
	require.Zero(t, r.q.Rejected(defaultScheduler, "Q"), "a popped pod counts nowhere")
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
	bad(Options{Profiles: map[string]Profile{"p": {Events: []Registration{{"", nodeAdd, nil}}}}}, "profiles[p].events[0].plugin: Required value")
	bad(Options{Profiles: map[string]Profile{"p": {Events: []Registration{{"P", Event{"", Add, ""}, nil}}}}}, "profiles[p].events[0].event.resource: Required value")
	bad(Options{Profiles: map[string]Profile{"p": {Events: []Registration{{"P", Event{"Node", 0, ""}, nil}}}}}, "must be a mask from 1 to 8191")
	bad(Options{Profiles: map[string]Profile{"p": {Events: []Registration{{"P", Event{"Nodes", Add, ""}, nil}}}}}, `event.resource: Invalid value: "Nodes": must be a resource of this package or plural.version.group (plugin P)`)
	_, err := New(Options{Profiles: map[string]Profile{"p": {Events: []Registration{{"P", Event{"foos.v1.example.com", Add, ""}, nil}}}}})
	require.NoError(t, err)
	_, err = New(Options{MaxBackoff: new(time.Duration)})
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
		_, err := r.q.Return(r.held["a"], Failure{Rejecters: plugins}, r.now)
		require.NoError(t, err)
		_, err = r.q.Update(a, newer, r.now)
		require.NoError(t, err)
		r.q.Move(Change{Event: nodeAdd, New: node}, r.now)
		r.q.All(r.now)
		_ = r.q.Explain(a, r.now).String()
	}, a, b, newer)
	require.Equal(t, []string{"Q", "P", "Q"}, plugins)
}
