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

// bare makes a rig. Its profile has the probes at the given points, PrioritySort and DefaultBinder, and no other plugin.
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
	type test struct {
		name, why     string
		a, b          *Status
		onlyA, onlyB  []string
		code          Code
		message, call string
		err           string
		only          []string
	}
	testkit.Run(t, []test{
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
	}, func(t *testing.T, c test) {
		s, list := probes(3)
		list[0].answer[PreFilter], list[1].answer[PreFilter], list[0].only, list[1].only = c.a, c.b, c.onlyA, c.onlyB
		r := bare(t, list, PreFilter)
		state := NewState()
		pre := r.framework().runPreFilter(ctx, state, pod("p"), nil)
		require.Equal(t, c.code, pre.Code)
		require.Equal(t, c.message, pre.Message)
		require.Equal(t, c.call, s.take())
		if c.err != "" {
			require.EqualError(t, pre.Err, c.err)
		} else {
			require.NoError(t, pre.Err)
		}
		if c.only != nil {
			require.Equal(t, c.only, pre.Nodes)
		}
		require.Equal(t, c.a.Code() == Skip, state.skipFilter["A"])
	})
}

func TestFilter(t *testing.T) {
	type test struct {
		name, why, calls, message string
		a                         *Status
		outcome                   Outcome
		rejecters                 []string
	}
	testkit.Run(t, []test{
		{"success asks the next", "nothing scores, so the first node will do (W4.7)", "A.Filter:n1:0 B.Filter:n1:0", "", nil, Scheduled, nil},
		{"U takes the node out", "the first failure decides", "A.Filter:n1:0 A.Filter:n2:0 A.Filter:n3:0", "0/3 nodes are available: 3 no.", u("no"), Rejected, []string{"A"}},
		{"UAU takes the node out", "the first failure decides", "A.Filter:n1:0 A.Filter:n2:0 A.Filter:n3:0", "0/3 nodes are available: 3 never.", uau("never"), Rejected, []string{"A"}},
		{"Pending takes the node out", "it is a rejection", "A.Filter:n1:0 A.Filter:n2:0 A.Filter:n3:0", "0/3 nodes are available: 3 wait.", NewStatus(Pending, "wait"), Rejected, []string{"A"}},
		{"Skip fails the attempt", "W1.5", "A.Filter:n1:0", `running "A" filter plugin: unexpected status Skip`, NewStatus(Skip), SchedulingError, nil},
		{"Wait fails the attempt", "W1.5", "A.Filter:n1:0", `running "A" filter plugin: unexpected status Wait`, NewStatus(Wait), SchedulingError, nil},
		{"Error fails the attempt", "table of points", "A.Filter:n1:0", `running "A" filter plugin: broken`, bad, SchedulingError, nil},
	}, func(t *testing.T, c test) {
		s, list := probes(2)
		list[0].answer[Filter] = c.a
		r := bare(t, list, Filter)
		r.add(pod("p")).step()
		require.Equal(t, c.calls, s.take())
		require.Equal(t, c.outcome, r.last().Outcome)
		require.Equal(t, c.message, r.last().Message)
		var e *queue.Entry
		r.s.queue.Read(func(q *queue.Queue) { e, _ = q.Lookup(pod("p")) })
		if c.outcome != Scheduled {
			require.Equal(t, c.rejecters, e.Rejecters)
			require.Equal(t, c.a.Code() == Pending, len(e.PendingPlugins) > 0)
		}
	})
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

// W-2: pods of priority 1, 5 and 9 are nominated to one node, and a pod of priority 5 is tried.
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
	type test struct {
		name, why, want string
		nominated       []*v1.Pod
		fails           int // A fails when the node has this number of pods; -1: never
		code            Code
		skips           string // a plugin that returned Skip at PreFilter
	}
	testkit.Run(t, []test{
		{"those of its priority count", "W-2", "A.AddPod:eq B.AddPod:eq A.AddPod:hi B.AddPod:hi A.Filter:n1:2 B.Filter:n1:2 A.Filter:n1:0 B.Filter:n1:0", nominated("lo", "eq", "hi"), -1, Success, ""},
		{"fails with them", "W-2: one pass", "A.AddPod:eq B.AddPod:eq A.AddPod:hi B.AddPod:hi A.Filter:n1:2", nominated("lo", "eq", "hi"), 2, Unschedulable, ""},
		{"fails without them", "W-2: the second pass", "A.AddPod:eq B.AddPod:eq A.AddPod:hi B.AddPod:hi A.Filter:n1:2 B.Filter:n1:2 A.Filter:n1:0", nominated("lo", "eq", "hi"), 0, Unschedulable, ""},
		{"only a lower one", "W-2: a single pass", "A.Filter:n1:0 B.Filter:n1:0", nominated("lo"), -1, Success, ""},
		{"only itself", "W-2: a single pass", "A.Filter:n1:0 B.Filter:n1:0", nominated("p"), -1, Success, ""},
		{"a plugin that skips is not told", "F2", "B.AddPod:hi B.Filter:n1:1 B.Filter:n1:0", nominated("hi"), -1, Success, "A"},
	}, func(t *testing.T, c test) {
		s, list := probes(2)
		r := bare(t, list, PreFilter, Filter)
		n := r.s.nodes.list[0]
		fail := &failing{probe: list[0], at: c.fails}
		r.framework().filter[0] = fail
		state := NewState()
		if c.skips != "" {
			state.skipFilter[c.skips] = true
		}
		st := r.framework().runFiltersWithNominated(ctx, state, nominated("p")[0], n, c.nominated)
		require.Equal(t, c.want, s.take())
		require.Equal(t, c.code, st.Code())
	})
}

// failing rejects a node with this number of pods.
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
	type test struct {
		name, why, calls, message string
		a, b                      *Status
		nominate                  *Nomination
		node                      string
	}
	testkit.Run(t, []test{
		{"U goes on and the nomination stays", "W-5", "A.PostFilter B.PostFilter", "a, b", u("a"), u("b"), at, "n1"},
		{"Success stops", "W-5", "A.PostFilter", "a", NewStatus(Success, "a"), nil, at, "n1"},
		{"UAU stops", "table of points", "A.PostFilter", "a", uau("a"), u("b"), nil, ""},
		{"Pending goes on as U", "table of points", "A.PostFilter B.PostFilter", "a, b", NewStatus(Pending, "a"), u("b"), nil, ""},
		{"Error stops", "table of points", "A.PostFilter", "broken", bad, u("b"), nil, ""},
		{"Skip is an error, not a crash", "table of points", "A.PostFilter", "unexpected status Skip", NewStatus(Skip), u("b"), nil, ""},
		{"Wait is an error, not a crash", "table of points", "A.PostFilter", "unexpected status Wait", NewStatus(Wait), u("b"), nil, ""},
	}, func(t *testing.T, c test) {
		s, list := probes(2)
		list[0].answer[PostFilter], list[1].answer[PostFilter], list[0].nominate = c.a, c.b, c.nominate
		r := bare(t, list, PostFilter)
		n, message := r.framework().runPostFilter(ctx, NewState(), pod("p"), &NodeStatuses{})
		require.Equal(t, c.calls, s.take())
		require.Equal(t, c.message, message)
		if c.node == "" {
			require.Nil(t, n, "the nomination is kept")
		} else {
			require.Equal(t, c.node, n.Node)
		}
	})
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
	t.Run("nothing scores", func(t *testing.T) { // table of points
		s, list := probes(1)
		r := bare(t, list, PreScore)
		require.Equal(t, []int64{1, 1}, total(t, r, "n1", "n2"))
		require.Empty(t, s.take(), "then PreScore is not asked")
	})
	t.Run("the best wins", func(t *testing.T) {
		_, list := probes(1)
		list[0].score = map[string]int64{"n1": 1, "n2": 3, "n3": 3}
		r := bare(t, list, Score)
		r.add(pod("p")).step()
		require.Equal(t, "n2", r.last().Node, "of equal ones the first")
		require.Equal(t, int64(3), r.last().Total)
	})
	type test struct {
		name, want string
		set        func(p *probe)
	}
	testkit.Run(t, []test{
		{"PreScore U", `running PreScore plugin "A": u`, func(p *probe) { p.answer[PreScore] = u("u") }},
		{"PreScore Wait", `running PreScore plugin "A": unexpected status Wait`, func(p *probe) { p.answer[PreScore] = NewStatus(Wait) }},
		{"Score U", `running Score plugins: plugin "A" failed with: u`, func(p *probe) { p.answer[Score] = u("u") }},
		{"Score Skip", `running Score plugins: plugin "A" failed with: unexpected status Skip`, func(p *probe) { p.answer[Score] = NewStatus(Skip) }},
		{"Normalize U", `running Normalize on Score plugins: plugin "A" failed with: n`, func(p *probe) { p.answer["Normalize"] = u("n") }},
		{"out of range", `applying score defaultWeights on Score plugins: plugin "A" returns an invalid score 101, it should in the range of [0, 100] after normalizing`, func(p *probe) { p.score = map[string]int64{"n1": 101} }},
		{"below range", `applying score defaultWeights on Score plugins: plugin "A" returns an invalid score -1, it should in the range of [0, 100] after normalizing`, func(p *probe) { p.score = map[string]int64{"n1": -1} }},
	}, func(t *testing.T, c test) {
		_, list := probes(1)
		c.set(list[0])
		r := bare(t, list, PreScore, Score)
		r.add(pod("p")).step()
		require.Equal(t, SchedulingError, r.last().Outcome)
		require.Equal(t, c.want, r.last().Message)
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

// The pods that wait on Permit are listed by name.
func TestWaitingPodsInOrder(t *testing.T) {
	_, list := probes(1)
	list[0].answer[Permit], list[0].timeout = NewStatus(Wait), time.Hour
	r := bare(t, list, Permit)
	r.add(pod("b"), pod("c"), pod("a"))
	for r.step() {
	}
	var names []string
	for _, w := range r.s.waiting.list() {
		names = append(names, w.Name)
	}
	require.Equal(t, []string{"a", "b", "c"}, names)
}

// Without scores every node has 1. When all scores skip, every node has 0.
func TestTotalsWithoutScores(t *testing.T) { // C1.2
	_, list := probes(1)
	r := bare(t, list, PreScore, Score)
	_, totals, err := r.framework().choose(ctx, NewState(), pod("p"), r.s.nodes.list)
	require.NoError(t, err)
	require.Equal(t, []int64{0, 0, 0}, totals)
	list[0].answer[PreScore] = NewStatus(Skip)
	_, totals, err = r.framework().choose(ctx, NewState(), pod("p"), r.s.nodes.list)
	require.NoError(t, err)
	require.Equal(t, []int64{0, 0, 0}, totals)
	r = bare(t, nil)
	_, totals, err = r.framework().choose(ctx, NewState(), pod("p"), r.s.nodes.list)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 1, 1}, totals)
}

// spectator is a PostFilter plugin that looks at the statuses of the nodes.
type spectator func(n *NodeStatuses)

func (spectator) Name() string { return "Spectator" }
func (look spectator) PostFilter(_ context.Context, _ *State, _ *v1.Pod, n *NodeStatuses) (*Nomination, *Status) {
	look(n)
	return nil, u()
}

// PostFilter plugins see the same statuses whether a plan or single plugins decide. A node that a PreFilter plugin left out has the
// reason, with the plugin that rejected the nominated node.
func TestStatusesOfNodes(t *testing.T) {
	everyWay(t, func(t *testing.T, o Options) {
		var r *rig
		var seen []string
		look := spectator(func(n *NodeStatuses) {
			for _, node := range r.s.nodes.list {
				st := n.Get(node.Slot)
				seen = append(seen, fmt.Sprintf("%s %v %s %v", node.Node.Name, st.Code(), st.Plugin(), st.Reasons()))
			}
		})
		o.Plugins = Registry{"Spectator": func(any, *Handle) (Plugin, error) { return look, nil }}
		o.Profiles = []Profile{{Plugins: Plugins{PostFilter: {Enabled: refs("Spectator")}}}}
		r = newRig(t, o, []*v1.Node{node("n1"), testkit.Node("n2").Capacity("cpu=4").Taint("a=b:NoSchedule").Obj(), node("n3")})
		require.Equal(t, o.OneByOne, r.framework().plan == nil)
		for nominated, plugins := range map[string]string{"": "NodeAffinity", "n2": "NodeAffinity TaintToleration"} {
			x := sized("p"+nominated, "9")
			x.Spec.Affinity = named("n1", "n2")
			x.Status.NominatedNodeName = nominated
			seen = nil
			r.add(x).step()
			require.Equal(t, []string{
				"n1 UnschedulableAndUnresolvable NodeResourcesFit [Insufficient cpu]",
				"n2 UnschedulableAndUnresolvable TaintToleration [node(s) had untolerated taint(s)]",
				"n3 UnschedulableAndUnresolvable  [node(s) didn't satisfy plugin(s) [" + plugins + "]]",
			}, seen)
		}
	})
}

// Plugins see the new version of a node.
func TestNodeChangesForPlugins(t *testing.T) {
	everyWay(t, func(t *testing.T, o Options) {
		r := newRig(t, o, []*v1.Node{node("n1")})
		r.add(pod("a")).step()
		require.Equal(t, Scheduled, r.last().Outcome)
		tainted := testkit.Node("n1").Capacity("cpu=4,memory=8Gi,pods=10").Taint("a=b:NoSchedule").Obj()
		r.s.UpdateNode(node("n1"), tainted)
		r.add(pod("b")).step()
		require.Contains(t, r.last().Message, "untolerated taint")
	})
}

// A profile with a single score has a plan.
func TestPlanOfOneScore(t *testing.T) {
	r := newRig(t, Options{Profiles: []Profile{{Plugins: Plugins{Score: {Enabled: refs("ImageLocality"), Disabled: []string{"*"}}, PreScore: {Disabled: []string{"*"}}}}}}, three())
	require.NotNil(t, r.framework().plan)
}
