package queue

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

func TestFairness(t *testing.T) {
	t.Run("higher priority starves lower", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("low")
		for i := range 20 {
			n := fmt.Sprint("high", i)
			r.pods[n] = testkit.Pod(n).Priority(1).Obj()
			r.now = r.now.Add(time.Hour)
			r.add(n)
			require.Equal(t, n, r.pop())
		}
	})
	t.Run("equal priorities take turns", func(t *testing.T) {
		r := newRig(t, Options{MaxBackoff: new(time.Duration)})
		r.add("a", "b", "c")
		var got string
		for range 9 {
			n := r.pop()
			got += n
			r.now = r.now.Add(time.Second)
			r.fail(n)
		}
		require.Equal(t, "abcabcabc", got)
	})
	t.Run("a hopeless pod is tried about every ten seconds", func(t *testing.T) {
		r := newRig(t, Options{})
		r.pods["hopeless"] = testkit.Pod("hopeless").Priority(9).Obj()
		r.add("hopeless")
		attempts := 0
		for r.now.Before(noon.Add(10 * time.Minute)) {
			if n := r.pop(); n != "" {
				attempts++
				r.fail(n)
			}
			next, ok := r.q.Next(r.now)
			require.True(t, ok)
			r.now = next
			r.q.Advance(r.now)
		}
		require.InDelta(t, 10*60/11, attempts, 4)
	})
	t.Run("a resting pod of high priority lets others pass", func(t *testing.T) {
		for _, plugins := range [][]string{nil, {"P"}, {"S"}} { // in error backoff, in backoff, unschedulable
			r := newRig(t, Options{})
			r.pods["hopeless"] = testkit.Pod("hopeless").Priority(9).Obj()
			r.add("hopeless", "low")
			require.Equal(t, "hopeless", r.pop())
			r.event(nodeAdd)
			r.fail("hopeless", plugins...)
			require.NotEqual(t, Active, r.where("hopeless"))
			require.Equal(t, "low", r.pop())
		}
	})
	t.Run("every deletion wakes all that wait for room", func(t *testing.T) {
		r := newRig(t, Options{Profiles: defaultProfiles(release.Current)})
		for i := range 100 {
			r.try("NodeResourcesFit", fmt.Sprint(i))
		}
		require.Len(t, r.q.Move(Change{Event: assignedPodDelete, Old: testkit.Pod("gone").On("n").Obj()}, r.now), 100)
	})
	t.Run("a leftover flush brings old hopeless pods all at once", func(t *testing.T) {
		r := newRig(t, Options{})
		for i := range 100 {
			r.try("Nobody", fmt.Sprint(i))
		}
		r.at(6 * time.Minute)
		require.Len(t, r.q.flushLeftovers(r.now), 100)
		require.Equal(t, Counts{Active: 100}, r.q.Counts())
	})
}

// Between them, entries never share memory that one of them writes: a gate that adds its name to one pod's rejecters
// leaves those of a pod with the same list alone.
func TestRejectersAreNotShared(t *testing.T) {
	r := newRig(t, Options{ShareFailures: true})
	for _, n := range []string{"a", "b"} {
		r.pods[n] = testkit.Pod(n).Labels("app=web").Obj()
	}
	r.add("a", "b")
	r.pop()
	r.fail("a", "z", "z")
	r.is(Unschedulable, "b")
	r.shut["x b"] = true
	r.q.Activate(r.now, r.pod("b"))
	a, _ := r.q.Lookup(r.pod("a"))
	b, _ := r.q.Lookup(r.pod("b"))
	require.Equal(t, []string{"z"}, a.Rejecters)
	require.Equal(t, []string{"x", "z"}, b.Rejecters)
}
