package scheduler

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/queue"
)

var ctx = context.Background()

// bare makes a rig whose profile has the probes at the given points and nothing else but PrioritySort and DefaultBinder.
func bare(t *testing.T, list []*probe, points ...Point) *rig {
	t.Helper()
	p, reg := on(list, append([]Point{"-"}, points...)...)
	return newRig(t, Options{Profiles: []Profile{p}, Plugins: reg}, three())
}

func (r *rig) framework() *Framework { return r.s.Profile(v1.DefaultSchedulerName) }

var (
	u   = func(reasons ...string) *Status { return NewStatus(Unschedulable, reasons...) }
	uau = func(reasons ...string) *Status { return NewStatus(UnschedulableAndUnresolvable, reasons...) }
	bad = AsStatus(errors.New("broken"))
)

func TestPreFilter(t *testing.T) {
	for _, c := range []struct {
		name, why     string
		a, b          *Status
		onlyA, onlyB  []string
		code          Code
		message, call string
		err           string
		only          []string
	}{
		{"success joins the sets", "W-1", nil, nil, []string{"a", "b"}, []string{"b", "c"}, Success, "", "A.PreFilter B.PreFilter C.PreFilter", "", []string{"b"}},
		{"U does not stop", "W-1", u("a"), nil, nil, nil, Unschedulable, "a", "A.PreFilter B.PreFilter C.PreFilter", "", nil},
		{"a later UAU replaces U", "W-1", u("a"), uau("b"), nil, nil, UnschedulableAndUnresolvable, "b", "A.PreFilter B.PreFilter", "", nil},
		{"UAU stops", "W-1", uau("a"), nil, nil, nil, UnschedulableAndUnresolvable, "a", "A.PreFilter", "", nil},
		{"nothing left", "W-1", nil, nil, []string{"a"}, []string{"b"}, UnschedulableAndUnresolvable, "node(s) didn't satisfy plugin(s) [A B] simultaneously", "A.PreFilter B.PreFilter", "", nil},
		{"an empty set", "4.1", nil, nil, []string{}, nil, UnschedulableAndUnresolvable, "node(s) didn't satisfy plugin A", "A.PreFilter", "", nil},
		{"Pending is an error", "W-1", NewStatus(Pending, "p"), nil, nil, nil, Error, "", "A.PreFilter", `running PreFilter plugin "A": p`, nil},
		{"Wait is an error", "table of points", NewStatus(Wait), nil, nil, nil, Error, "", "A.PreFilter", `running PreFilter plugin "A": unexpected status Wait`, nil},
		{"Error stops", "table of points", bad, nil, nil, nil, Error, "", "A.PreFilter", `running PreFilter plugin "A": broken`, nil},
		{"an unknown code is an error", "anything else", NewStatus(17), nil, nil, nil, Error, "", "A.PreFilter", `running PreFilter plugin "A": unexpected status Code(17)`, nil},
		{"Skip ignores the set", "table of points", NewStatus(Skip), nil, []string{"a"}, nil, Success, "", "A.PreFilter B.PreFilter C.PreFilter", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, list := probes(3)
			list[0].answer[PreFilter], list[1].answer[PreFilter], list[0].only, list[1].only = c.a, c.b, c.onlyA, c.onlyB
			r := bare(t, list, PreFilter)
			state := NewState()
			pre := r.framework().runPreFilter(ctx, state, pod("p"), nil)
			require.Equal(t, c.code, pre.Code(), c.why)
			require.Equal(t, c.message, pre.Message())
			require.Equal(t, c.call, s.take())
			if c.err != "" {
				require.EqualError(t, pre.Err(), c.err)
			} else {
				require.NoError(t, pre.Err())
			}
			if c.only != nil {
				only, narrowed := pre.Nodes()
				require.True(t, narrowed)
				require.Equal(t, c.only, only)
			}
			require.Equal(t, c.a.Code() == Skip, state.skipFilter["A"])
		})
	}
}

func TestFilter(t *testing.T) {
	for _, c := range []struct {
		name, why, calls, message string
		a                         *Status
		outcome                   Outcome
		rejecters                 []string
	}{
		{"success asks the next", "nothing scores, so the first node will do (W4.7)", "A.Filter:n1:0 B.Filter:n1:0", "", nil, Scheduled, nil},
		{"U takes the node out", "the first failure decides", "A.Filter:n1:0 A.Filter:n2:0 A.Filter:n3:0", "0/3 nodes are available: 3 no.", u("no"), Rejected, []string{"A"}},
		{"UAU takes the node out", "the first failure decides", "A.Filter:n1:0 A.Filter:n2:0 A.Filter:n3:0", "0/3 nodes are available: 3 never.", uau("never"), Rejected, []string{"A"}},
		{"Pending takes the node out", "it is a rejection", "A.Filter:n1:0 A.Filter:n2:0 A.Filter:n3:0", "0/3 nodes are available: 3 wait.", NewStatus(Pending, "wait"), Rejected, []string{"A"}},
		{"Skip fails the attempt", "W1.5", "A.Filter:n1:0", `running "A" filter plugin: unexpected status Skip`, NewStatus(Skip), SchedulingError, nil},
		{"Wait fails the attempt", "W1.5", "A.Filter:n1:0", `running "A" filter plugin: unexpected status Wait`, NewStatus(Wait), SchedulingError, nil},
		{"Error fails the attempt", "table of points", "A.Filter:n1:0", `running "A" filter plugin: broken`, bad, SchedulingError, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, list := probes(2)
			list[0].answer[Filter] = c.a
			r := bare(t, list, Filter)
			r.add(pod("p")).step()
			require.Equal(t, c.calls, s.take(), c.why)
			require.Equal(t, c.outcome, r.last().Outcome)
			require.Equal(t, c.message, r.last().Message)
			var e *queue.Entry
			r.s.queue.Read(func(q *queue.Queue) { e, _ = q.Lookup(pod("p")) })
			if c.outcome != Scheduled {
				require.Equal(t, c.rejecters, e.UnschedulablePlugins)
				require.Equal(t, c.a.Code() == Pending, len(e.PendingPlugins) > 0)
			}
		})
	}
	t.Run("a skipped plugin is not asked", func(t *testing.T) { // invariant F2
		s, list := probes(2)
		list[0].answer[PreFilter] = NewStatus(Skip)
		r := bare(t, list, PreFilter, Filter)
		r.add(pod("p")).step()
		require.Equal(t, "A.PreFilter B.PreFilter B.Filter:n1:0", s.take())
	})
	t.Run("narrowed nodes", func(t *testing.T) { // 4.5
		s, list := probes(1)
		list[0].only, list[0].answer[Filter] = []string{"n2", "gone"}, u("full")
		r := bare(t, list, PreFilter, Filter)
		r.add(pod("p")).step()
		require.Equal(t, "A.PreFilter A.Filter:n2:0", s.take())
		require.Equal(t, "0/3 nodes are available: 1 full, 2 node(s) didn't satisfy plugin(s) [A].", r.last().Message)
	})
	t.Run("a rejected PreFilter asks PostFilter", func(t *testing.T) { // 4.3
		s, list := probes(1)
		list[0].answer[PreFilter], list[0].answer[PostFilter] = uau("no"), u("sorry")
		r := bare(t, list, PreFilter, Filter, PostFilter)
		r.add(pod("p")).step()
		require.Equal(t, "A.PreFilter A.PostFilter", s.take())
		require.Equal(t, "0/3 nodes are available: no. sorry", r.last().Message)
	})
	t.Run("an error asks nobody more", func(t *testing.T) { // 4.3
		s, list := probes(1)
		list[0].answer[PreFilter] = bad
		r := bare(t, list, PreFilter, Filter, PostFilter)
		r.add(pod("p")).step()
		require.Equal(t, "A.PreFilter", s.take())
	})
	t.Run("no filters", func(t *testing.T) { // 4.9
		r := bare(t, nil)
		r.add(pod("p")).step()
		require.Equal(t, "n1", r.last().Node)
	})
}

// W-2: one node to which pods of priority 1, 5 and 9 are nominated, and a pod of priority 5.
func TestTwoPasses(t *testing.T) {
	nominated := func(names ...string) []*v1.Pod {
		var out []*v1.Pod
		for k, name := range names {
			p := testkit.Pod("default/" + name).Priority(map[string]int32{"lo": 1, "eq": 5, "hi": 9, "p": 5}[name]).Obj()
			p.UID = identified([]*v1.Pod{p})[0].UID
			_ = k
			out = append(out, p)
		}
		return out
	}
	for _, c := range []struct {
		name, why, want string
		nominated       []*v1.Pod
		fails           int // the number of pods on the node with which A fails; -1: never
		code            Code
	}{
		{"those of its priority count", "W-2", "A.AddPod:eq B.AddPod:eq A.AddPod:hi B.AddPod:hi A.Filter:n1:2 B.Filter:n1:2 A.Filter:n1:0 B.Filter:n1:0", nominated("lo", "eq", "hi"), -1, Success},
		{"fails with them", "W-2: one pass", "A.AddPod:eq B.AddPod:eq A.AddPod:hi B.AddPod:hi A.Filter:n1:2", nominated("lo", "eq", "hi"), 2, Unschedulable},
		{"fails without them", "W-2: the second pass", "A.AddPod:eq B.AddPod:eq A.AddPod:hi B.AddPod:hi A.Filter:n1:2 B.Filter:n1:2 A.Filter:n1:0", nominated("lo", "eq", "hi"), 0, Unschedulable},
		{"only a lower one", "W-2: a single pass", "A.Filter:n1:0 B.Filter:n1:0", nominated("lo"), -1, Success},
		{"only itself", "W-2: a single pass", "A.Filter:n1:0 B.Filter:n1:0", nominated("p"), -1, Success},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, list := probes(2)
			r := bare(t, list, PreFilter, Filter)
			n := r.s.nodes.list[0]
			fail := &failing{probe: list[0], at: c.fails}
			r.framework().filter[0] = fail
			st := r.framework().runFiltersWithNominated(ctx, NewState(), nominated("p")[0], n, c.nominated)
			require.Equal(t, c.want, s.take(), c.why)
			require.Equal(t, c.code, st.Code())
		})
	}
}

// failing rejects when so many pods are on the node.
type failing struct {
	*probe
	at int
}

func (f *failing) Filter(ctx context.Context, s *State, pod *v1.Pod, n *NodeInfo) *Status {
	st := f.probe.Filter(ctx, s, pod, n)
	count := 0
	for range n.Pods() {
		count++
	}
	if count == f.at {
		return u("no")
	}
	return st
}

func TestPostFilter(t *testing.T) {
	at := &Nomination{Node: "n1"}
	for _, c := range []struct {
		name, why, calls, message string
		a, b                      *Status
		nominate                  *Nomination
		node                      string
	}{
		{"U goes on and the nomination stays", "W-5", "A.PostFilter B.PostFilter", "a, b", u("a"), u("b"), at, "n1"},
		{"Success stops", "W-5", "A.PostFilter", "a", NewStatus(Success, "a"), nil, at, "n1"},
		{"UAU stops", "table of points", "A.PostFilter", "a", uau("a"), u("b"), nil, ""},
		{"Pending goes on as U", "table of points", "A.PostFilter B.PostFilter", "a, b", NewStatus(Pending, "a"), u("b"), nil, ""},
		{"Error stops", "table of points", "A.PostFilter", "broken", bad, u("b"), nil, ""},
		{"Skip is an error, not a crash", "table of points", "A.PostFilter", "unexpected status Skip", NewStatus(Skip), u("b"), nil, ""},
		{"Wait is an error, not a crash", "table of points", "A.PostFilter", "unexpected status Wait", NewStatus(Wait), u("b"), nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, list := probes(2)
			list[0].answer[PostFilter], list[1].answer[PostFilter], list[0].nominate = c.a, c.b, c.nominate
			r := bare(t, list, PostFilter)
			n, message := r.framework().runPostFilter(ctx, NewState(), pod("p"), &NodeStatuses{})
			require.Equal(t, c.calls, s.take(), c.why)
			require.Equal(t, c.message, message)
			if c.node == "" {
				require.Nil(t, n, "the nomination is kept")
			} else {
				require.Equal(t, c.node, n.Node)
			}
		})
	}
}

func TestScore(t *testing.T) {
	total := func(t *testing.T, r *rig, names ...string) []int64 {
		t.Helper()
		totals, err := r.framework().totals(ctx, NewState(), pod("p"), r.s.nodes.list[:len(names)])
		require.NoError(t, err)
		return totals
	}
	weights := func(t *testing.T, list []*probe, w ...int64) *rig {
		t.Helper()
		p, reg := on(list, "-", PreScore, Score)
		for k := range w {
			p.Plugins[Score].Enabled[k].Weight = w[k]
		}
		return newRig(t, Options{Profiles: []Profile{p}, Plugins: reg}, three())
	}
	t.Run("weighted sum", func(t *testing.T) { // W-3
		_, list := probes(2)
		list[0].score, list[1].score = map[string]int64{"n1": 10}, map[string]int64{"n1": 100}
		require.Equal(t, int64(220), total(t, weights(t, list, 2, 2), "n1")[0])
	})
	t.Run("normalized", func(t *testing.T) { // W-3
		_, list := probes(1)
		list[0].score = map[string]int64{"n1": 500}
		list[0].normal = func(l []NodeScore) { l[0].Score /= 10 }
		require.Equal(t, int64(100), total(t, weights(t, list, 2), "n1")[0])
	})
	t.Run("a skipped plugin does not count", func(t *testing.T) { // W-3, F2
		s, list := probes(2)
		list[0].answer[PreScore], list[1].score = NewStatus(Skip), map[string]int64{"n1": 7}
		require.Equal(t, int64(14), total(t, weights(t, list, 2, 2), "n1")[0])
		require.Equal(t, "A.PreScore B.PreScore B.Score:n1 B.Normalize", s.take())
	})
	t.Run("no scores", func(t *testing.T) { // W6.1
		require.Equal(t, []int64{1, 1, 1}, total(t, bare(t, nil), "n1", "n2", "n3"))
	})
	t.Run("one candidate is not scored", func(t *testing.T) { // step 10
		s, list := probes(1)
		list[0].only = []string{"n2"}
		r := bare(t, list, PreFilter, PreScore, Score)
		r.add(pod("p")).step()
		require.Equal(t, "n2", r.last().Node)
		require.Equal(t, "A.PreFilter", s.take())
	})
	t.Run("the best wins", func(t *testing.T) {
		_, list := probes(1)
		list[0].score = map[string]int64{"n1": 1, "n2": 3, "n3": 3}
		r := bare(t, list, Score)
		r.add(pod("p")).step()
		require.Equal(t, "n2", r.last().Node, "of equal ones the first")
		require.Equal(t, int64(3), r.last().Total)
	})
	for _, c := range []struct {
		name, want string
		set        func(p *probe)
	}{
		{"PreScore U", `running PreScore plugin "A": u`, func(p *probe) { p.answer[PreScore] = u("u") }},
		{"PreScore Wait", `running PreScore plugin "A": unexpected status Wait`, func(p *probe) { p.answer[PreScore] = NewStatus(Wait) }},
		{"Score U", `running Score plugins: plugin "A" failed with: u`, func(p *probe) { p.answer[Score] = u("u") }},
		{"Score Skip", `running Score plugins: plugin "A" failed with: unexpected status Skip`, func(p *probe) { p.answer[Score] = NewStatus(Skip) }},
		{"Normalize U", `running Normalize on Score plugins: plugin "A" failed with: n`, func(p *probe) { p.answer["Normalize"] = u("n") }},
		{"out of range", `applying score defaultWeights on Score plugins: plugin "A" returns an invalid score 101, it should in the range of [0, 100] after normalizing`, func(p *probe) { p.score = map[string]int64{"n1": 101} }},
		{"below range", `applying score defaultWeights on Score plugins: plugin "A" returns an invalid score -1, it should in the range of [0, 100] after normalizing`, func(p *probe) { p.score = map[string]int64{"n1": -1} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, list := probes(1)
			c.set(list[0])
			r := bare(t, list, PreScore, Score)
			r.add(pod("p")).step()
			require.Equal(t, SchedulingError, r.last().Outcome)
			require.Equal(t, c.want, r.last().Message)
		})
	}
}

func TestReserve(t *testing.T) {
	for _, c := range []struct {
		name, why, calls, message string
		b                         *Status
		outcome                   Outcome
		place                     queue.Place
	}{
		{"rejected", "W-4: Unreserve on all, in reverse", "A.Reserve B.Reserve C.Unreserve B.Unreserve A.Unreserve", "0/1 nodes are available: 1 full.", u("full"), Rejected, queue.Unschedulable},
		{"pending", "W-8", "A.Reserve B.Reserve C.Unreserve B.Unreserve A.Unreserve", "0/1 nodes are available: 1 waiting for thing.", NewStatus(Pending, "waiting for thing"), Rejected, queue.Unschedulable},
		{"error", "table of points", "A.Reserve B.Reserve C.Unreserve B.Unreserve A.Unreserve", `running Reserve plugin "B": broken`, bad, SchedulingError, queue.ErrorBackoff},
		{"skip is an error", "table of points", "A.Reserve B.Reserve C.Unreserve B.Unreserve A.Unreserve", `running Reserve plugin "B": unexpected status Skip`, NewStatus(Skip), SchedulingError, queue.ErrorBackoff},
		{"success", "table of points", "A.Reserve B.Reserve C.Reserve", "", nil, Scheduled, queue.Nowhere},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, list := probes(3)
			list[1].answer[Reserve] = c.b
			r := bare(t, list, Reserve)
			p := pod("p")
			r.add(p).step()
			require.Equal(t, c.calls, s.take(), c.why)
			require.Equal(t, c.outcome, r.last().Outcome)
			require.Equal(t, c.message, r.last().Message)
			require.Equal(t, c.place, r.place(p))
			if c.outcome != Scheduled { // invariant F4
				require.Empty(t, r.on("n1"), "nothing is left in the cache")
			}
		})
	}
}

func TestBind(t *testing.T) {
	for _, c := range []struct {
		name, why, calls, message string
		a                         *Status
		outcome                   Outcome
		events, patches           int
	}{
		{"skip and then success", "W-12", "A.Bind B.Bind", "", NewStatus(Skip), Scheduled, 1, 0},
		{"error stops", "W-12", "A.Bind", `running Bind plugin "A": broken`, bad, SchedulingError, 1, 1},
		{"a rejection waits for nothing", "W-12, W5.9", "A.Bind", "no", u("no"), Rejected, 1, 1},
		{"wait is an error", "table of points", "A.Bind", `running Bind plugin "A": unexpected status Wait`, NewStatus(Wait), SchedulingError, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, list := probes(2)
			list[0].answer[Bind] = c.a
			r := bare(t, list, Bind)
			p := pod("p")
			r.add(p).step()
			require.Equal(t, c.calls, s.take(), c.why)
			require.Equal(t, c.outcome, r.last().Outcome)
			require.Equal(t, c.message, r.last().Message)
			require.Len(t, r.events, c.events)
			require.Len(t, r.patches, c.patches)
			if c.outcome != Scheduled {
				require.Equal(t, queue.ErrorBackoff, r.place(p), "no rejecter is recorded")
				require.Empty(t, r.on("n1"))
			}
		})
	}
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
	t.Run("all skip", func(t *testing.T) { // W-11
		s, list := probes(1)
		list[0].preflight = NewStatus(Skip)
		r := bare(t, list, PreBind)
		r.add(pod("p")).step()
		require.Equal(t, "A.PreFlight", s.take())
		require.Empty(t, r.patches)
	})
	for _, c := range []struct {
		name, why, message string
		preflight, status  *Status
		outcome            Outcome
		reason             string
	}{
		{"preflight U", "W-11", `PreBindPreFlight A returned "Unschedulable", which is unsupported. It is supposed to return Success, Skip, or Error status`, u("x"), nil, SchedulingError, "SchedulerError"},
		{"preflight error", "table of points", `running PreBindPreFlight "A": broken`, bad, nil, SchedulingError, "SchedulerError"},
		{"U", "W5.9", "no", nil, u("no"), Rejected, "Unschedulable"},
		{"error", "table of points", `running PreBind plugin "A": broken`, nil, bad, SchedulingError, "SchedulerError"},
		{"skip is an error", "table of points", `running PreBind plugin "A": unexpected status Skip`, nil, NewStatus(Skip), SchedulingError, "SchedulerError"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, list := probes(2)
			list[0].preflight, list[0].answer[PreBind] = c.preflight, c.status
			r := bare(t, list, Reserve, PreBind)
			p := pod("p")
			r.add(p).step()
			require.Contains(t, s.take(), "B.Unreserve A.Unreserve", c.why)
			require.Equal(t, c.outcome, r.last().Outcome)
			require.Equal(t, c.message, r.last().Message)
			require.Equal(t, queue.ErrorBackoff, r.place(p))
			require.Contains(t, r.patches[len(r.patches)-1], "PodScheduled=False "+c.reason)
		})
	}
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
	for _, c := range []struct {
		name, why, calls, message string
		b                         *Status
		outcome                   Outcome
	}{
		{"a rejection beats a wait", "table of points", "A.Permit B.Permit", "0/1 nodes are available: 1 no.", u("no"), Rejected},
		{"pending rejects", "table of points", "A.Permit B.Permit", "0/1 nodes are available: 1 p.", NewStatus(Pending, "p"), Rejected},
		{"skip is an error", "table of points", "A.Permit B.Permit", `running Permit plugin "B": unexpected status Skip`, NewStatus(Skip), SchedulingError},
		{"error", "table of points", "A.Permit B.Permit", `running Permit plugin "B": broken`, bad, SchedulingError},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, list := probes(3)
			list[0].answer[Permit], list[0].timeout, list[1].answer[Permit] = NewStatus(Wait), time.Hour, c.b
			r := bare(t, list, Permit)
			r.add(pod("p")).step()
			require.Equal(t, c.calls, s.take(), c.why)
			require.Equal(t, c.outcome, r.last().Outcome)
			require.Equal(t, c.message, r.last().Message)
			require.Zero(t, r.s.Waiting())
		})
	}
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

func TestStatus(t *testing.T) {
	var none *Status
	require.True(t, none.Success())
	require.Empty(t, none.Message())
	require.NoError(t, none.AsError())
	s := &Status{code: Error, err: errors.New("e"), reasons: []string{"a", "b"}}
	require.Equal(t, "e, a, b", s.Message())
	require.EqualError(t, s.AsError(), "e")
	require.EqualError(t, u("a", "b").AsError(), "a, b")
	for code, rejected := range map[Code]bool{Success: false, Error: false, Unschedulable: true, UnschedulableAndUnresolvable: true, Wait: false, Skip: false, Pending: true} {
		require.Equal(t, rejected, NewStatus(code).Rejected(), code)
	}
	for _, code := range []Code{Success, Wait, Skip} {
		require.NoError(t, NewStatus(code, "x").AsError())
	}
	require.Nil(t, AsStatus(nil))
}

type counter struct{ n int }

func (c *counter) Clone() *counter { return &counter{c.n} }

func TestState(t *testing.T) {
	var none *State
	require.Nil(t, none.Clone())
	s := NewState()
	cloned, shared := NewKey[*counter]("cloned"), NewKey[*int]("shared")
	_, err := cloned.Read(s)
	require.EqualError(t, err, "not found")
	x := 1
	cloned.Write(s, &counter{1})
	shared.Write(s, &x)
	s.skipFilter["A"] = true
	c := s.Clone()
	in, err := cloned.Read(c)
	require.NoError(t, err)
	in.n = 7
	old, _ := cloned.Read(s)
	require.Equal(t, 1, old.n, "cloned through Clone")
	again, _ := cloned.Read(c.Clone())
	require.Equal(t, 7, again.n, "a clone of a clone is a clone of the clone")
	p, _ := shared.Read(c)
	require.Same(t, &x, p)
	require.True(t, c.skipFilter["A"])
	cloned.Delete(c)
	_, err = cloned.Read(c)
	require.ErrorIs(t, err, ErrNotFound)
	require.Equal(t, "cloned", fmt.Sprint(cloned))
}
