package queue

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

func TestExplain(t *testing.T) {
	r := newRig(t, Options{})
	text := func(name string) string { return r.q.Explain(r.pod(name), r.now).String() }
	require.Equal(t, "default/a is not in the queue\n", text("a"))
	require.Equal(t, "no pod", r.q.Explain(nil, r.now).String())
	r.add("a", "b")
	require.Equal(t, "default/b is active since 2026-01-01T12:00:00Z, 0 attempts\n1 pods are ahead\n", text("b"))
	r.at(300 * time.Millisecond)
	r.pop()
	r.event(Event{"AssignedPod", UpdatePodLabel, ""})
	r.event(nodeAdd)
	require.Equal(t, "default/a is in flight since 2026-01-01T12:00:00.3Z, 1 attempts\n2 events during the attempt, 2 of them concern it\n", text("a"))
	r.q.Done(r.pod("a"))
	r.pop()
	r.fail("b")
	require.Equal(t, "default/b is error backoff since 2026-01-01T12:00:00.3Z, 1 attempts\nbackoff of 1s, free at 2026-01-01T12:00:02Z\n", text("b"))
	r.add("c")
	r.pop()
	_, err := r.q.Return(r.held["c"], Failure{Rejecters: []string{"R"}, Pending: []string{"P"}, Nomination: Nomination{Override: true, Node: "n1"}}, r.now)
	require.NoError(t, err)
	require.Equal(t, strings.Join([]string{
		"default/c is unschedulable since 2026-01-01T12:00:00.3Z, 1 attempts",
		"rejected by P, R",
		"nominated for node n1",
		"moved by NodeAdd|UpdateNodeTaint, if the plugin agrees (P)",
		"moved by PodUpdatePodLabel, if the plugin agrees (P)",
		"moved by NodeAdd|UpdateNodeTaint, always (R)",
		"moved by PodUpdate, always (R)",
		"tried again at 2026-01-01T12:05:30Z in any case", ""}, "\n"), text("c"))
	x := r.q.Explain(r.pod("c"), r.now)
	require.True(t, x.Waits[0].Pending)
	require.False(t, x.Waits[2].Pending)
	require.Equal(t, []string{"P"}, x.Pending)
	r.shut["x g"] = true
	r.add("g")
	require.Equal(t, strings.Join([]string{
		"default/g is gated since 2026-01-01T12:00:00.3Z, 0 attempts",
		"rejected by x",
		"gated by x: held",
		"moved by NodeUpdateNodeAnnotation, always (x)",
		"tried again at 2026-01-01T12:05:30Z in any case", ""}, "\n"), text("g"))
	r.pod("u").Spec.SchedulerName = "nobody's"
	r.add("u")
	r.pop()
	r.fail("u", "P")
	require.Contains(t, text("u"), "moved by any event that is registered")
}

// What Explain says of the future comes true.
func TestExplainComesTrue(t *testing.T) {
	r := newRig(t, Options{})
	r.at(123 * time.Millisecond)
	r.add("e")
	r.pop()
	r.fail("e")
	r.try("P", "u")
	for _, name := range []string{"e", "u"} {
		until := r.q.Explain(r.pod(name), r.now).Until
		r.now = until.Add(-1)
		r.q.Advance(r.now)
		require.NotEqual(t, Active, r.where(name))
		r.now = until
		r.q.Advance(r.now)
		r.is(Active, name)
	}
	r.add("f")
	for range 3 {
		r.pop()
	}
	r.fail("f", "Q")
	for _, w := range r.q.Explain(r.pod("f"), r.now).Waits {
		r.event(Event{w.Event.Resource, Add, ""})
	}
	r.is(Backoff, "f")
}

func TestAll(t *testing.T) {
	r := newRig(t, Options{})
	r.try("P", "u1")
	r.at(time.Second)
	r.try("S", "u2")
	r.add("e")
	r.pop()
	r.fail("e")
	r.add("f")
	r.pop()
	r.shut["x g"] = true
	r.add("g", "a2", "a1")
	r.update("a1", func(p *v1.Pod) { p.Spec.Priority = ptr(int32(7)) })
	var got []string
	for _, s := range r.q.All(r.now) {
		got = append(got, s.Pod.Name+" "+s.Place.String())
		require.Equal(t, s, r.q.Explain(s.Pod, r.now).Status)
	}
	require.Equal(t, []string{"a1 active", "a2 active", "e error backoff", "u1 unschedulable", "u2 unschedulable", "g gated", "f in flight"}, got)
	require.Equal(t, "unknown", Place(99).String())
}
