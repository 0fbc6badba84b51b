package queue

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
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
		profiles := defaultProfiles(release.Current)
		profiles["other"] = Profile{}
		r := newRig(t, Options{Profiles: profiles, Less: func(a, b *Entry) bool { return a.Pod.Name > b.Pod.Name }})
		r.pods["b"] = testkit.Pod("b").Priority(100).Obj()
		r.pod("c").Spec.SchedulerName = "other"
		r.add("a", "b", "c")
		require.Equal(t, []string{"c", "b", "a"}, []string{r.pop(), r.pop(), r.pop()})
	})
	t.Run("another order from now on", func(t *testing.T) {
		backwards := false
		r := newRig(t, Options{Less: func(a, b *Entry) bool { return backwards == (a.Pod.Name > b.Pod.Name) }})
		r.add("d", "b", "e", "a", "c", "f", "g")
		require.Equal(t, "a", r.pop())
		backwards = true
		r.q.Reorder()
		require.Equal(t, []string{"g", "f", "e", "d", "c", "b"}, []string{r.pop(), r.pop(), r.pop(), r.pop(), r.pop(), r.pop()})
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
		r.event(nodeAdd)
		require.Equal(t, "old", r.pop())
		e := r.held["old"]
		require.Equal(t, noon, e.Timestamp)
		require.Equal(t, noon, e.InitialAttemptTimestamp)
		require.Equal(t, 2, e.Attempts)
	})
	t.Run("a new priority sorts again", func(t *testing.T) {
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
	type test struct {
		name         string
		initial, max time.Duration
		count        int
		want         time.Duration
	}
	testkit.Run(t, []test{
		{"default 1", s, 10 * s, 1, s}, {"default 2", s, 10 * s, 2, 2 * s}, {"default 3", s, 10 * s, 3, 4 * s},
		{"default 4", s, 10 * s, 4, 8 * s}, {"default 5", s, 10 * s, 5, 10 * s}, {"default 6", s, 10 * s, 6, 10 * s},
		{"three to ten 1", 3 * s, 10 * s, 1, 3 * s}, {"three to ten 2", 3 * s, 10 * s, 2, 6 * s}, {"three to ten 3", 3 * s, 10 * s, 3, 10 * s},
		{"no overflow", s, 10 * s, 201, 10 * s}, {"no overflow at the largest", s, math.MaxInt64, 63, math.MaxInt64},
		{"count of the largest int", s, 10 * s, math.MaxInt, 10 * s},
		{"initial above max", 5 * s, 3 * s, 1, 3 * s}, {"no backoff", s, 0, 3, 0}, {"never failed", s, 10 * s, 0, 0},
	}, func(t *testing.T, c test) { require.Equal(t, c.want, backoffDuration(c.initial, c.max, c.count)) })
	t.Run("grows and stays in bounds", func(t *testing.T) {
		for _, initial := range []time.Duration{1, 7, time.Millisecond, s, 9 * s} {
			last := time.Duration(0)
			for count := 1; count < 100; count++ {
				d := backoffDuration(initial, 10*s, count)
				require.GreaterOrEqual(t, d, last)
				require.GreaterOrEqual(t, d, initial)
				require.LessOrEqual(t, d, 10*s)
				last = d
			}
		}
	})
}

func TestBackoffExpiry(t *testing.T) {
	type test struct {
		name         string
		failed, free time.Duration
	}
	testkit.Run(t, []test{
		{"failed at .300", 300 * time.Millisecond, 2 * time.Second},
		{"failed at .999", 999 * time.Millisecond, 2 * time.Second},
		{"failed at .000", 0, 2 * time.Second},
	}, func(t *testing.T, c test) {
		expiry := backoffExpiry(noon.Add(c.failed), time.Second)
		require.True(t, backingOff(expiry, noon.Add(c.free-1)))
		require.False(t, backingOff(expiry, noon.Add(c.free)))
		require.GreaterOrEqual(t, c.free-c.failed, time.Second, "never less than the duration")
		require.LessOrEqual(t, c.free-c.failed, 2*time.Second)
	})
	require.False(t, backingOff(backoffExpiry(noon, 0), noon), "no duration, no backoff")
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
		r := newRig(t, Options{Legacy: Legacy{WaitOutBackoff: true}})
		r.at(300 * time.Millisecond)
		r.try("P", "a")
		r.event(nodeAdd)
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
		r.event(nodeAdd)
		r.shut["x a"], r.shut["x b"] = true, true
		require.Equal(t, "a", r.pop(), "nor at an early pop")
		r.at(time.Minute)
		r.q.Advance(r.now)
		require.Equal(t, "b", r.pop())
	})
}

// PriorityLess reads the pods of entries that the caller made, and the queue's own order agrees.
func TestPriorityLess(t *testing.T) {
	entry := func(priority int32, after time.Duration) *Entry {
		return &Entry{Pod: testkit.Pod("p").Priority(priority).Obj(), Timestamp: noon.Add(after)}
	}
	type test struct {
		name string
		a, b *Entry
		want bool
	}
	testkit.Run(t, []test{
		{"higher priority", entry(100, time.Hour), entry(1, 0), true},
		{"lower priority", entry(1, 0), entry(100, time.Hour), false},
		{"earlier timestamp", entry(1, 0), entry(1, time.Hour), true},
		{"equal", entry(1, 0), entry(1, 0), false},
		{"a nil pod has priority 0", entry(1, time.Hour), &Entry{Timestamp: noon}, true},
	}, func(t *testing.T, c test) { require.Equal(t, c.want, PriorityLess(c.a, c.b)) })
	r := newRig(t, Options{})
	r.pods["lo"], r.pods["hi"] = testkit.Pod("lo").Priority(-1).Obj(), testkit.Pod("hi").Priority(5).Obj()
	r.add("lo", "hi", "plain")
	for _, a := range r.q.heaps[Active].items {
		for _, b := range r.q.heaps[Active].items {
			require.Equal(t, PriorityLess(a, b), cachedLess(a, b))
		}
	}
	made := &Entry{Pod: r.pod("made"), Timestamp: noon}
	require.Equal(t, Nowhere, made.Place())
	moves, err := r.q.Return(made, Failure{}, r.now)
	require.NoError(t, err)
	require.Equal(t, []string{"default/made: nowhere -> error backoff (ScheduleAttemptFailure)"}, lines(moves), "the queue takes an entry that the caller made")
}
