package queue

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Pods of the same specification share a failure.
func TestShareFailures(t *testing.T) {
	web := func(r *rig, names ...string) {
		for _, n := range names {
			r.pods[n] = testkit.Pod(n).Labels("app=web").Request("cpu=64").Obj()
		}
	}
	t.Run("equal pods wait with the first", func(t *testing.T) {
		r := newRig(t, Options{ShareFailures: true})
		web(r, "w1", "w2", "w3", "w4")
		r.add("w1", "other", "w2", "w3")
		r.pop()
		r.fail("w1", "P")
		r.is(Unschedulable, "w1", "w2", "w3")
		r.is(Active, "other")
		require.Equal(t, []string{"default/w4: nowhere -> unschedulable (SharedFailure)"}, lines(r.add("w4")), "one that comes later, too")
		e, _ := r.q.Lookup(r.pod("w4"))
		require.Equal(t, []any{0, 0, []string{"P"}}, []any{e.Attempts, e.UnschedulableCount, e.Rejecters})
		require.Equal(t, 4, r.q.Rejected(defaultScheduler, "P"))
		r.event(nodeAdd)
		r.is(Backoff, "w1")
		r.is(Active, "w2", "w3", "w4")
		web(r, "w5")
		r.add("w5")
		r.is(Active, "w5")
	})
	t.Run("off by default", func(t *testing.T) {
		r := newRig(t, Options{})
		web(r, "w1", "w2")
		r.add("w1", "w2")
		r.pop()
		r.fail("w1", "P")
		r.is(Active, "w2")
	})
	t.Run("what woke during the attempt is not held back", func(t *testing.T) {
		r := newRig(t, Options{ShareFailures: true})
		web(r, "w1", "w2", "w3")
		r.add("w1", "w2")
		r.pop()
		r.fail("w1", "P")
		r.is(Unschedulable, "w2")
		r.at(time.Minute)
		r.q.Activate(r.now, r.pod("w1"))
		r.pop()
		r.q.Activate(r.now, r.pod("w2"))
		r.add("w3")
		r.fail("w1", "P")
		r.is(Active, "w2", "w3")
	})
	t.Run("an event during the attempt", func(t *testing.T) {
		r := newRig(t, Options{ShareFailures: true})
		web(r, "w1", "w2")
		r.add("w1", "w2")
		r.pop()
		r.event(nodeAdd)
		r.fail("w1", "P")
		r.is(Backoff, "w1")
		r.is(Active, "w2")
	})
	t.Run("errors and pending and nominations are not shared", func(t *testing.T) {
		for _, f := range []Failure{{}, {Pending: []string{"P"}}, {Rejecters: []string{"P"}, Nomination: Nomination{Override: true, Node: "n"}}} {
			r := newRig(t, Options{ShareFailures: true})
			web(r, "w1", "w2", "w3")
			r.add("w1", "w2")
			r.pop()
			_, err := r.q.Return(r.held["w1"], f, r.now)
			require.NoError(t, err)
			r.add("w3")
			r.is(Active, "w2", "w3")
		}
	})
	t.Run("the leftover flush frees them", func(t *testing.T) {
		r := newRig(t, Options{ShareFailures: true})
		web(r, "w1", "w2")
		r.add("w1", "w2")
		r.pop()
		r.fail("w1", "S")
		r.at(6 * time.Minute)
		r.q.Advance(r.now)
		r.is(Active, "w1", "w2")
	})
	t.Run("tried pods are not held back", func(t *testing.T) {
		r := newRig(t, Options{ShareFailures: true, MaxBackoff: new(time.Duration)})
		web(r, "w1", "w2")
		r.add("w1", "w2")
		r.pop()
		r.pop()
		r.fail("w2")
		r.is(Active, "w2")
		r.fail("w1", "P")
		r.is(Active, "w2")
	})
}

// Which equal pods share a failure, and in which order.
func TestWhoSharesFailures(t *testing.T) {
	profile := Profile{Events: []Registration{{"P", Event{"Node", Add, ""}, nil}}}
	set := func(t *testing.T) *rig {
		r := newRig(t, Options{ShareFailures: true, Profiles: map[string]Profile{defaultScheduler: profile, "other": profile},
			PodKey: func(pod *v1.Pod) string { return pod.Labels["like"] }})
		for _, n := range []string{"w1", "w2", "w3", "w4", "w5", "w6"} {
			r.pods[n] = testkit.Pod(n).Labels("like=web").Obj()
		}
		return r
	}
	returned := func(r *rig, name string) []string {
		moves, err := r.q.Return(r.held[name], Failure{Rejecters: []string{"P"}}, r.now)
		require.NoError(r.t, err)
		return lines(moves)
	}
	t.Run("in the order in which they came", func(t *testing.T) {
		r := set(t)
		r.add("w1", "w2", "w3", "w4", "w5")
		r.q.Delete(r.pod("w2")) // the last takes its place in the list of the group
		require.Equal(t, "w1", r.pop())
		require.Equal(t, []string{
			"default/w1: in flight -> unschedulable (ScheduleAttemptFailure)", "default/w3: active -> unschedulable (SharedFailure)",
			"default/w4: active -> unschedulable (SharedFailure)", "default/w5: active -> unschedulable (SharedFailure)",
		}, returned(r, "w1"))
	})
	t.Run("of one profile", func(t *testing.T) {
		r := set(t)
		r.pods["w2"].Spec.SchedulerName, r.pods["w6"].Spec.SchedulerName = "other", "other"
		r.add("w1", "w2", "w3")
		require.Equal(t, "w1", r.pop())
		returned(r, "w1")
		r.is(Unschedulable, "w1", "w3")
		r.is(Active, "w2")
		r.add("w6", "w4")
		r.is(Active, "w6")
		r.is(Unschedulable, "w4")
	})
	t.Run("of a plugin", func(t *testing.T) {
		r := newRig(t, Options{ShareFailures: true, Legacy: Legacy{CycleCounter: true}})
		for _, n := range []string{"w1", "w2"} {
			r.pods[n] = testkit.Pod(n).Labels("like=web").Obj()
		}
		r.add("w1")
		r.fail(r.pop())
		r.is(Unschedulable, "w1")
		r.add("w2")
		r.is(Active, "w2")
	})
	t.Run("without a nomination", func(t *testing.T) {
		r := set(t)
		r.pods["w2"].Status.NominatedNodeName = "n1"
		r.add("w1", "w2", "w3")
		require.Equal(t, "w1", r.pop())
		returned(r, "w1")
		r.is(Active, "w2")
		r.is(Unschedulable, "w3")
	})
	t.Run("with a signature", func(t *testing.T) {
		r := set(t)
		for _, n := range []string{"w1", "w2", "w3"} {
			delete(r.pods[n].Labels, "like")
		}
		r.add("w1", "w2")
		require.Equal(t, "w1", r.pop())
		returned(r, "w1")
		r.add("w3")
		r.is(Active, "w2", "w3")
		require.Empty(t, r.q.groups)
	})
	t.Run("and nothing stays of a group that is empty", func(t *testing.T) {
		r := set(t)
		r.add("w1", "w2")
		require.Len(t, r.q.groups, 1)
		r.q.Delete(r.pod("w1"))
		require.Len(t, r.q.groups, 1)
		r.q.Delete(r.pod("w2"))
		require.Empty(t, r.q.groups)
	})
	t.Run("not without the option", func(t *testing.T) {
		r := newRig(t, Options{PodKey: template})
		r.add("w1", "w2")
		require.Nil(t, r.q.groups)
	})
}

// Lookup finds queued pods only.
func TestLookup(t *testing.T) {
	r := newRig(t, Options{})
	r.add("a")
	e, ok := r.q.Lookup(r.pod("a"))
	require.True(t, ok)
	require.Same(t, r.pod("a"), e.Pod)
	for _, p := range []*v1.Pod{nil, r.pod("b")} {
		e, ok = r.q.Lookup(p)
		require.False(t, ok)
		require.Nil(t, e)
	}
}

func TestShareFailuresNeedsPodKey(t *testing.T) {
	_, err := New(Options{ShareFailures: true})
	require.EqualError(t, err, "podKey: Required value: shareFailures needs the keys of pods")
}

// TestLawsOfOptions runs random operations under every option and checks what must hold without a model: each pod is in
// one place and every list that the queue keeps agrees with it; with time alone every pod that is not gated is popped.
func TestLawsOfOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"default": {}, "wait out backoff": {Legacy: Legacy{WaitOutBackoff: true}}, "flush gated": {FlushGated: true}, "split": {SplitRecreated: true},
		"share": {ShareFailures: true}, "counter": {Legacy: Legacy{CycleCounter: true}}, "no backoff": {MaxBackoff: new(time.Duration)},
		"other order": {Less: func(a, b *Entry) bool { return len(a.Pod.Name) < len(b.Pod.Name) }},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range testkit.Rounds(10) {
				randomLaws(t, o, rand.New(rand.NewSource(int64(seed))))
			}
		})
	}
}

func randomLaws(t *testing.T, o Options, rnd *rand.Rand) {
	r := newRig(t, o)
	for i := range 12 {
		n := fmt.Sprint("p", i)
		r.pods[n] = testkit.Pod(n).Labels(fmt.Sprint("app=", i%3)).Obj()
	}
	any := func() string { return fmt.Sprint("p", rnd.Intn(12)) }
	for range 250 {
		n := any()
		switch rnd.Intn(11) {
		case 0, 1:
			if _, queued := r.q.Lookup(r.pod(n)); !queued && r.held[n] == nil {
				r.add(n)
			}
		case 2, 3:
			r.pop()
		case 4, 5:
			if e := r.held[n]; e != nil {
				delete(r.held, n)
				sets := [][]string{nil, {"P"}, {"Q", "R"}, {"S"}}
				f := Failure{Rejecters: sets[rnd.Intn(4)]}
				if rnd.Intn(4) == 0 {
					f.Pending = []string{"P"}
				}
				_, err := r.q.Return(e, f, r.now)
				if !o.Legacy.CycleCounter { // there an update queues the pod again
					require.NoError(t, err)
				}
			}
		case 6:
			r.event(fuzzEvents[rnd.Intn(len(fuzzEvents))])
		case 7:
			r.shut["x "+n] = rnd.Intn(2) == 0
			r.q.Activate(r.now, r.pod(n))
		case 8:
			if _, queued := r.q.Lookup(r.pod(n)); queued || r.held[n] != nil {
				r.update(n, func(p *v1.Pod) { p.Labels["step"] = fmt.Sprint(rnd.Intn(2)) })
			}
		case 9:
			r.q.Delete(r.pod(n))
			r.q.Done(r.pod(n))
			delete(r.held, n)
		case 10:
			r.now = r.now.Add(time.Duration(rnd.Intn(100)) * 300 * time.Millisecond)
			r.q.Advance(r.now)
		}
		checkLists(t, r.q)
	}
	r.now = r.now.Add(10 * time.Minute)
	r.q.Advance(r.now)
	r.now = r.now.Add(time.Minute)
	r.q.Advance(r.now)
	require.Zero(t, r.q.Counts().Unschedulable, "no pod is forgotten")
	for left := r.q.Counts().Active; left > 0; left-- {
		before := r.q.heaps[Active].head()
		for _, e := range r.q.heaps[Active].items {
			require.False(t, r.q.heaps[Active].less(e, before), "the head is the first")
		}
		e, _ := r.q.Pop(r.now)
		require.True(t, e == before || o.ShareFailures || e == nil || r.q.Counts().InFlight > 0)
	}
}

// checkLists compares everything that the queue keeps about its entries with the entries.
func checkLists(t *testing.T, q *Queue) {
	t.Helper()
	gauge, inHeaps, loose, grouped := map[*plugin]int{}, 0, 0, 0
	for place := range q.heaps {
		letGo(t, q.heaps[place].items)
		for i, e := range q.heaps[place].items {
			require.Equal(t, Place(place), e.place)
			require.Equal(t, i, e.index)
			require.Same(t, e, q.entries[keyOf(e.Pod)])
			if i > 0 {
				require.False(t, q.heaps[place].less(e, q.heaps[place].items[(i-1)/2]))
			}
			inHeaps++
			if e.place == Unschedulable && e.wakesAlways() {
				loose++
				require.Same(t, e, q.loose[e.loose])
			}
			if e.group != nil {
				grouped++
				require.Same(t, e, (*e.group.list(e))[e.member])
			}
			for j := range e.waits {
				w := &e.waits[j]
				gauge[w.plugin]++
				switch {
				case e.place == Unschedulable && e.profile.known:
					require.Equal(t, slot{e, j}, w.plugin.rejected.slots[w.at])
				case e.place == Gated && w.plugin.name == e.GatingPlugin:
					require.Equal(t, slot{e, j}, w.plugin.gated.slots[w.at])
				default:
					require.Equal(t, -1, w.at)
				}
			}
		}
	}
	require.Len(t, q.entries, inHeaps)
	require.Len(t, q.loose, loose)
	letGo(t, q.found[:0])
	if q.order.Len() == 0 {
		require.Nil(t, q.events, "the log lets go of its room")
	}
	for _, g := range q.groups {
		grouped -= len(g.fresh) + len(g.waiting)
		letGo(t, g.fresh)
		letGo(t, g.waiting)
	}
	letGo(t, q.loose)
	require.Zero(t, grouped)
	for _, p := range q.byName {
		for _, pl := range p.plugins {
			require.Equal(t, gauge[pl], pl.count)
			letGo(t, pl.rejected.slots)
			letGo(t, pl.gated.slots)
		}
	}
}

// letGo requires that the room of a list behind its end keeps no entry.
func letGo[T comparable](t *testing.T, list []T) {
	t.Helper()
	var none T
	for _, x := range list[len(list):cap(list)] {
		require.True(t, x == none)
	}
}
