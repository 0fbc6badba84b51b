package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/queue"
)

// A preemptor that is tried again while its victim, stopped in memory, still gives its room back does not delete the victim. The new
// eviction comes before the room is back, or after it.
func TestPreemptorTriedAgain(t *testing.T) {
	type test struct {
		name string
		at   Point
		late bool // the new eviction waits until the room is back
	}
	testkit.Run(t, []test{
		{"before the room is back, PreBind", PreBind, false},
		{"after the room is back, PreBind", PreBind, true},
		{"before the room is back, Permit", Permit, false},
		{"after the room is back, Permit", Permit, true},
	}, func(t *testing.T, c test) {
		_, list := probes(1)
		x := list[0]
		p, reg := on(list, Reserve, c.at)
		r := newRig(t, Options{Profiles: []Profile{p}, Plugins: reg}, []*v1.Node{node("n1")})
		low := testkit.Pod("default/low").Priority(0).Request("cpu=4").Obj()
		high := testkit.Pod("default/high").Priority(10).Request("cpu=4").Obj()
		attempts := 0
		preempt := func(late bool) {
			before := len(r.tasks)
			require.True(t, r.s.TryScheduleOne(ctx))
			require.Equal(t, "n1", r.last().Nominated)
			require.Len(t, r.tasks, before+1)
			attempts++
			if late {
				return
			}
			evict := r.tasks[before]
			r.tasks = r.tasks[:before]
			evict()
		}
		x.do["Unreserve"] = func() {
			require.Equal(t, queue.Active, r.place(high), "it is tried at once")
			preempt(c.late)
		}
		if c.at == Permit {
			x.perPod["low"] = map[Point]*Status{Permit: NewStatus(Wait)}
			x.timeout = time.Hour
			r.add(low).step()
			r.add(high)
			preempt(false)
		} else {
			x.do[PreBind] = func() {
				x.do[PreBind] = nil
				r.add(high)
				preempt(false)
			}
			r.add(low).step()
		}
		r.work()
		require.Equal(t, 2, attempts)
		require.Empty(t, r.deleted)
		require.Equal(t, queue.ErrorBackoff, r.place(low))
		require.Empty(t, r.s.binding)
		require.Empty(t, r.s.waiting.leaving)
		x.do["Unreserve"] = nil
		r.clock.advance(time.Minute)
		r.s.Tick()
		r.step()
		require.Equal(t, "high", r.last().Pod.Name)
		require.Equal(t, "n1", r.last().Node)
	})
}
