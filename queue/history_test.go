package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// What an entry remembers of its pod, and through what it keeps it.
func TestHistory(t *testing.T) {
	later := func(r *rig, d time.Duration) { r.now = r.now.Add(d) }
	type test struct {
		name  string
		after func(r *rig)
		want  Place
	}
	testkit.Run(t, []test{
		{"an update in place keeps the time", func(r *rig) {
			r.update("a", func(p *v1.Pod) { p.Annotations = map[string]string{"k": "v"} })
		}, Unschedulable},
		{"an update that moves keeps the time", func(r *rig) {
			r.update("a", func(p *v1.Pod) { p.Labels = map[string]string{"k": "v"} })
		}, Active},
		{"an event keeps the time", func(r *rig) { r.event(nodeAdd) }, Active},
		{"activation keeps the time", func(r *rig) { r.q.Activate(r.now, r.pod("a")) }, Active},
		{"the leftover flush keeps the time", func(r *rig) { later(r, time.Hour); r.q.flushLeftovers(r.now) }, Active},
		{"a gate keeps the time", func(r *rig) { r.shut["x a"] = true; r.event(nodeAdd) }, Gated},
		{"a pop keeps the time", func(r *rig) { r.event(nodeAdd); r.pop() }, InFlight},
	}, func(t *testing.T, c test) {
		r := newRig(t, Options{})
		r.try("P", "a")
		later(r, time.Minute)
		c.after(r)
		x := r.q.Explain(r.pod("a"), r.now)
		require.Equal(t, c.want, x.Place)
		require.Equal(t, noon, x.Timestamp)
	})
	t.Run("the end of a backoff keeps the time and a return renews it", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("P", "a")
		r.event(nodeAdd)
		r.is(Backoff, "a")
		later(r, time.Minute)
		r.q.flushBackoffs(r.now)
		e, _ := r.q.Lookup(r.pod("a"))
		require.Equal(t, []any{Active, noon}, []any{e.Place(), e.Timestamp})
		r.pop()
		r.fail("a", "P")
		require.Equal(t, noon.Add(time.Minute), e.Timestamp)
		require.Equal(t, noon, e.InitialAttemptTimestamp, "never renewed")
	})
	t.Run("the next failure replaces both kinds of rejecters", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a")
		r.pop()
		_, err := r.q.Return(r.held["a"], Failure{Rejecters: []string{"Q"}, Pending: []string{"P"}}, r.now)
		require.NoError(t, err)
		e, _ := r.q.Lookup(r.pod("a"))
		require.Equal(t, []any{[]string{"P", "Q"}, []string{"P"}}, []any{e.Rejecters, e.PendingPlugins}, "a pending plugin is in both")
		r.event(nodeAdd)
		r.pop()
		r.fail("a", "R")
		require.Equal(t, []string{"R"}, e.Rejecters)
		require.Empty(t, e.PendingPlugins)
	})
	t.Run("the signature is worked out again by an update", func(t *testing.T) {
		r := newRig(t, Options{PodKey: func(p *v1.Pod) string { return p.Labels["app"] }})
		r.add("a")
		e, _ := r.q.Lookup(r.pod("a"))
		require.Empty(t, e.PodKey)
		r.update("a", func(p *v1.Pod) { p.Labels = map[string]string{"app": "web"} })
		require.Equal(t, "web", e.PodKey)
	})
	t.Run("without a namespace the name is the key", func(t *testing.T) {
		r := newRig(t, Options{})
		bare := testkit.Pod("a").Obj()
		bare.Namespace, bare.UID = "", "bare"
		r.pods["bare"] = bare
		r.add("a", "bare")
		require.Equal(t, 2, r.q.Counts().Active, "not the pod of that name in the namespace default")
		gone := testkit.Pod("gone").Obj()
		gone.Namespace = ""
		require.Equal(t, "gone is not in the queue\n", r.q.Explain(gone, r.now).String())
	})
	t.Run("a backoff that is over first comes first", func(t *testing.T) {
		r := newRig(t, Options{})
		r.pods["hi"] = testkit.Pod("hi").Priority(9).Obj()
		r.try("P", "lo")
		later(r, time.Second)
		r.try("P", "hi")
		r.event(nodeAdd)
		r.is(Backoff, "lo", "hi")
		e, moves := r.q.Pop(r.now)
		require.Equal(t, "lo", e.Pod.Name, "the priority decides between equal expiries only")
		require.Equal(t, []string{"default/lo: backoff -> active (PopFromBackoffQ)", "default/lo: active -> in flight (PodPopped)"}, lines(moves))
	})
	t.Run("a new priority sorts backoff again", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("P", "a", "b")
		r.event(nodeAdd)
		r.update("b", func(p *v1.Pod) { p.Spec.Priority = ptr(int32(1)) })
		require.Equal(t, []string{"b", "a"}, []string{r.pop(), r.pop()})
	})
	t.Run("the nomination of a failed attempt", func(t *testing.T) {
		for _, c := range []struct {
			nomination Nomination
			want       string
		}{{Nomination{}, "n1"}, {Nomination{Override: true}, ""}, {Nomination{Override: true, Node: "n2"}, "n2"}} {
			r := newRig(t, Options{})
			r.pods["a"] = nominated("a", "n1")
			r.add("a")
			r.pop()
			_, err := r.q.Return(r.held["a"], Failure{Nomination: c.nomination}, r.now)
			require.NoError(t, err)
			require.Equal(t, c.want, r.q.nom.Node(r.pod("a")), "none keeps that of the status, an empty one clears")
		}
	})
	t.Run("the cycle plays no part", func(t *testing.T) {
		for _, cycle := range []int64{-1, 0, 1, 99} {
			r := newRig(t, Options{})
			r.add("a")
			r.pop()
			r.event(nodeAdd)
			_, err := r.q.Return(r.held["a"], Failure{Rejecters: []string{"P"}, Cycle: cycle}, r.now)
			require.NoError(t, err)
			r.is(Backoff, "a")
		}
	})
	t.Run("a pending plugin's wish meets a gate", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a")
		r.pop()
		r.event(nodeAdd)
		r.shut["x a"] = true
		_, err := r.q.Return(r.held["a"], Failure{Pending: []string{"P"}}, r.now)
		require.NoError(t, err)
		r.is(Gated, "a")
	})
}
