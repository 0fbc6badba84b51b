package scheduler

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/queue"
)

func TestReserve(t *testing.T) {
	type test struct {
		name, why, calls, message string
		b                         *Status
		outcome                   Outcome
		place                     queue.Place
	}
	testkit.Run(t, []test{
		{"rejected", "W-4: Unreserve on all, in reverse", "A.Reserve B.Reserve C.Unreserve B.Unreserve A.Unreserve", "0/1 nodes are available: 1 full.", u("full"), Rejected, queue.Unschedulable},
		{"pending", "W-8", "A.Reserve B.Reserve C.Unreserve B.Unreserve A.Unreserve", "0/1 nodes are available: 1 waiting for thing.", NewStatus(Pending, "waiting for thing"), Rejected, queue.Unschedulable},
		{"error", "table of points", "A.Reserve B.Reserve C.Unreserve B.Unreserve A.Unreserve", `running Reserve plugin "B": broken`, bad, SchedulingError, queue.ErrorBackoff},
		{"skip is an error", "table of points", "A.Reserve B.Reserve C.Unreserve B.Unreserve A.Unreserve", `running Reserve plugin "B": unexpected status Skip`, NewStatus(Skip), SchedulingError, queue.ErrorBackoff},
		{"success", "table of points", "A.Reserve B.Reserve C.Reserve", "", nil, Scheduled, queue.Nowhere},
	}, func(t *testing.T, c test) {
		s, list := probes(3)
		list[1].answer[Reserve] = c.b
		r := bare(t, list, Reserve)
		p := pod("p")
		r.add(p).step()
		require.Equal(t, c.calls, s.take())
		require.Equal(t, c.outcome, r.last().Outcome)
		require.Equal(t, c.message, r.last().Message)
		require.Equal(t, c.place, r.place(p))
		if c.outcome != Scheduled { // invariant F4
			require.Empty(t, r.on("n1"), "nothing is left in the cache")
		}
	})
}

func TestBind(t *testing.T) {
	type test struct {
		name, why, calls, message string
		a                         *Status
		outcome                   Outcome
		events, patches           int
	}
	testkit.Run(t, []test{
		{"skip and then success", "W-12", "A.Bind B.Bind", "", NewStatus(Skip), Scheduled, 1, 0},
		{"error stops", "W-12", "A.Bind", `running Bind plugin "A": broken`, bad, SchedulingError, 1, 1},
		{"a rejection waits for nothing", "W-12, W5.9", "A.Bind", "no", u("no"), Rejected, 1, 1},
		{"an unknown code is an error", "W1.5", "A.Bind", `running Bind plugin "A": unexpected status Code(42)`, NewStatus(42), SchedulingError, 1, 1},
		{"wait is an error", "table of points", "A.Bind", `running Bind plugin "A": unexpected status Wait`, NewStatus(Wait), SchedulingError, 1, 1},
	}, func(t *testing.T, c test) {
		s, list := probes(2)
		list[0].answer[Bind] = c.a
		r := bare(t, list, Bind)
		p := pod("p")
		r.add(p).step()
		require.Equal(t, c.calls, s.take())
		require.Equal(t, c.outcome, r.last().Outcome)
		require.Equal(t, c.message, r.last().Message)
		require.Len(t, r.events, c.events)
		require.Len(t, r.patches, c.patches)
		if c.outcome != Scheduled {
			require.Equal(t, queue.ErrorBackoff, r.place(p), "no rejecter is recorded")
			require.Empty(t, r.on("n1"))
		}
	})
	t.Run("all skip", func(t *testing.T) { // W5.8
		_, list := probes(1)
		list[0].answer[Bind] = NewStatus(Skip)
		r := bare(t, list, Bind, Reserve)
		p := pod("p")
		r.add(p).step()
		require.Empty(t, r.events)
		require.Empty(t, r.patches)
		require.Equal(t, queue.ErrorBackoff, r.place(p))
		require.Empty(t, r.on("n1"))
	})
}

// The default binder calls the API server once for the pod, by name and UID. The attempt has the error of this call.
func TestDefaultBinder(t *testing.T) { // W5.10
	r := newRig(t, Options{}, three())
	p := pod("p")
	var asked []string
	r.bindErr = func(p *v1.Pod) error {
		asked = append(asked, fmt.Sprint(podinfo.Name(p), p.UID, p.Spec.NodeName))
		return errors.New("conflict")
	}
	r.add(p).step()
	require.Equal(t, []string{"default/p" + string(p.UID) + "n1"}, asked)
	require.Equal(t, SchedulingError, r.last().Outcome)
	require.Equal(t, `running Bind plugin "DefaultBinder": conflict`, r.last().Message)
	require.Equal(t, queue.ErrorBackoff, r.place(p))
}

func TestPreBind(t *testing.T) {
	t.Run("groups", func(t *testing.T) { // W-11
		s, list := probes(3)
		for _, p := range list {
			p.parallel = true
		}
		list[1].preflight = NewStatus(Skip)
		r := bare(t, list, PreBind)
		r.add(pod("p")).step()
		calls := s.take()
		require.Contains(t, []string{
			"A.PreFlight B.PreFlight C.PreFlight A.PreBind C.PreBind", "A.PreFlight B.PreFlight C.PreFlight C.PreBind A.PreBind",
		}, calls)
		require.Equal(t, []string{`p: nominated="n1"`}, r.patches, "others are told where it goes")
	})
	t.Run("side by side", func(t *testing.T) { // W11.1
		_, list := probes(2)
		begun := make(chan struct{})
		list[0].parallel, list[1].parallel = true, true
		list[0].do[PreBind] = func() { <-begun } // this plugin would wait for ever if the other plugin ran after it
		list[1].do[PreBind] = func() { close(begun) }
		r := bare(t, list, PreBind)
		r.add(pod("p")).step()
		require.Equal(t, Scheduled, r.last().Outcome)
	})
	t.Run("all skip", func(t *testing.T) { // W-11
		s, list := probes(1)
		list[0].preflight = NewStatus(Skip)
		r := bare(t, list, PreBind)
		r.add(pod("p")).step()
		require.Equal(t, "A.PreFlight", s.take())
		require.Empty(t, r.patches)
	})
	type test struct {
		name, why, message string
		preflight, status  *Status
		outcome            Outcome
		reason             string
	}
	testkit.Run(t, []test{
		{"preflight U", "W-11", `PreBindPreFlight A returned "Unschedulable", which is unsupported. It is supposed to return Success, Skip, or Error status`, u("x"), nil, SchedulingError, "SchedulerError"},
		{"preflight error", "table of points", `running PreBindPreFlight "A": broken`, bad, nil, SchedulingError, "SchedulerError"},
		{"U", "W5.9", "no", nil, u("no"), Rejected, "Unschedulable"},
		{"error", "table of points", `running PreBind plugin "A": broken`, nil, bad, SchedulingError, "SchedulerError"},
		{"skip is an error", "table of points", `running PreBind plugin "A": unexpected status Skip`, nil, NewStatus(Skip), SchedulingError, "SchedulerError"},
	}, func(t *testing.T, c test) {
		s, list := probes(2)
		list[0].preflight, list[0].answer[PreBind] = c.preflight, c.status
		r := bare(t, list, Reserve, PreBind)
		p := pod("p")
		p.Status.NominatedNodeName = "n1"
		r.add(p).step()
		require.Contains(t, s.take(), "B.Unreserve A.Unreserve")
		require.Equal(t, c.outcome, r.last().Outcome)
		require.Equal(t, c.message, r.last().Message)
		require.Equal(t, queue.ErrorBackoff, r.place(p))
		require.Contains(t, r.patches[len(r.patches)-1], "PodScheduled=False "+c.reason)
		require.Contains(t, r.patches[len(r.patches)-1], `nominated=""`)
	})
	t.Run("one that runs alone splits the group", func(t *testing.T) { // W5.7
		s, list := probes(3)
		list[0].parallel, list[2].parallel = true, true
		r := bare(t, list, PreBind)
		r.add(pod("p")).step()
		require.Equal(t, "A.PreFlight B.PreFlight C.PreFlight A.PreBind B.PreBind C.PreBind", s.take())
	})
}

func TestPermit(t *testing.T) {
	waiting := func(t *testing.T, timeouts ...time.Duration) (*rig, *v1.Pod, *script) {
		t.Helper()
		s, list := probes(3)
		for k, d := range timeouts {
			if d != 0 {
				list[k].timeout, list[k].answer[Permit] = d, NewStatus(Wait)
			}
		}
		r := bare(t, list, Permit, Reserve)
		p := pod("p")
		r.add(p).step()
		return r, p, s
	}
	t.Run("timeouts", func(t *testing.T) { // W-4
		r, p, _ := waiting(t, 20*time.Minute, 0, time.Second)
		require.Equal(t, map[string]time.Duration{"A": 15 * time.Minute, "C": time.Second}, r.s.waiting.pods[p.UID].plugins)
		at, ok := r.s.Next()
		require.True(t, ok)
		require.Equal(t, r.clock.Now().Add(time.Second), at)
		r.clock.advance(time.Second)
		r.s.Tick()
		r.work()
		require.Equal(t, "0/1 nodes are available: 1 rejected due to timeout after waiting 1s at plugin C.", r.last().Message)
		require.Equal(t, queue.Unschedulable, r.place(p), "it waits for events of C")
		require.Empty(t, r.on("n1"))
	})
	t.Run("the smallest decides after an allowance", func(t *testing.T) { // W-10
		r, p, _ := waiting(t, time.Hour, 50*time.Millisecond)
		require.False(t, r.s.waiting.allow(p.UID, "A"))
		r.clock.advance(50 * time.Millisecond)
		r.s.Tick()
		r.work()
		require.Equal(t, "0/1 nodes are available: 1 rejected due to timeout after waiting 50ms at plugin B.", r.last().Message)
	})
	t.Run("allowed", func(t *testing.T) { // W-10
		r, p, _ := waiting(t, time.Hour)
		require.Equal(t, "p", r.on("n1"), "it holds its room")
		require.False(t, r.s.waiting.allow(p.UID, "Z"), "an unknown plugin changes nothing")
		require.True(t, r.s.waiting.allow(p.UID, "A"))
		require.False(t, r.s.waiting.reject(p.UID, "A", "late"), "the first signal counts")
		r.work()
		require.Equal(t, Scheduled, r.last().Outcome)
		require.Equal(t, []string{`p: nominated="n1"`}, r.patches)
	})
	t.Run("rejected", func(t *testing.T) {
		r, p, s := waiting(t, time.Hour)
		require.True(t, r.s.waiting.reject(p.UID, "A", "no"))
		r.work()
		require.Equal(t, "0/1 nodes are available: 1 no.", r.last().Message)
		require.Equal(t, "A.Reserve B.Reserve C.Reserve A.Permit B.Permit C.Permit C.Unreserve B.Unreserve A.Unreserve", s.take())
	})
	t.Run("preempted", func(t *testing.T) { // W-10
		r, p, _ := waiting(t, time.Hour)
		require.True(t, r.s.waiting.preempt(p.UID, "A", "victim"))
		r.work()
		require.Equal(t, "waiting on permit for pod: victim", r.last().Message)
		require.Equal(t, queue.ErrorBackoff, r.place(p), "an error, so that it tries again")
	})
	t.Run("deleted", func(t *testing.T) { // W5.5
		r, p, _ := waiting(t, time.Hour)
		require.NoError(t, r.Delete(ctx, p))
		r.work()
		require.Equal(t, "0/1 nodes are available: 1 removed.", r.last().Message)
		require.Equal(t, queue.Nowhere, r.place(p), "it does not come back")
		require.Empty(t, r.on("n1"))
	})
	t.Run("consumed once", func(t *testing.T) { // W5.5
		r, p, _ := waiting(t, time.Hour)
		r.s.waiting.allow(p.UID, "A")
		second := u("not called")
		r.s.waiting.wait(p.UID, func(st *Status) { second = st })
		require.True(t, second.Success())
	})
	t.Run("a signal before anybody waits", func(t *testing.T) {
		room := newWaitingRoom()
		p := identified([]*v1.Pod{pod("p")})[0]
		room.enter(p, map[string]time.Duration{"A": time.Hour}, time.Time{})
		require.True(t, room.reject(p.UID, "A", "no"))
		require.False(t, room.allow(p.UID, "A"), "F12")
		var got *Status
		room.wait(p.UID, func(st *Status) { got = st })
		require.Equal(t, "no", got.Message())
		require.Equal(t, "A", got.Plugin())
	})
	type test struct {
		name, why, calls, message string
		b                         *Status
		outcome                   Outcome
	}
	testkit.Run(t, []test{
		{"a rejection beats a wait", "table of points", "A.Permit B.Permit", "0/1 nodes are available: 1 no.", u("no"), Rejected},
		{"pending rejects", "table of points", "A.Permit B.Permit", "0/1 nodes are available: 1 p.", NewStatus(Pending, "p"), Rejected},
		{"skip is an error", "table of points", "A.Permit B.Permit", `running Permit plugin "B": unexpected status Skip`, NewStatus(Skip), SchedulingError},
		{"error", "table of points", "A.Permit B.Permit", `running Permit plugin "B": broken`, bad, SchedulingError},
	}, func(t *testing.T, c test) {
		s, list := probes(3)
		list[0].answer[Permit], list[0].timeout, list[1].answer[Permit] = NewStatus(Wait), time.Hour, c.b
		r := bare(t, list, Permit)
		r.add(pod("p")).step()
		require.Equal(t, c.calls, s.take())
		require.Equal(t, c.outcome, r.last().Outcome)
		require.Equal(t, c.message, r.last().Message)
		require.Zero(t, r.s.Waiting())
	})
	t.Run("no time at all", func(t *testing.T) { // W5.2
		_, list := probes(1)
		list[0].answer[Permit] = NewStatus(Wait)
		r := bare(t, list, Permit)
		r.add(pod("p")).step()
		r.s.Tick()
		r.work()
		require.Equal(t, "0/1 nodes are available: 1 rejected due to timeout after waiting 0s at plugin A.", r.last().Message)
	})
}
