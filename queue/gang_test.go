package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
)

// The hints of the plugin GangScheduling (PG2.12).
func TestGangHints(t *testing.T) {
	one, two := int32(1), int32(2)
	gang := func(namespace, name string, minimum *int32) *podgroup.Group {
		g := &podgroup.Group{Spec: podgroup.Spec{Minimum: minimum}}
		g.Namespace, g.Name = namespace, name
		return g
	}
	job := func(namespace, name string) *podgroup.Composite {
		c := &podgroup.Composite{}
		c.Namespace, c.Name = namespace, name
		return c
	}
	member := func(namespace, group string) *v1.Pod {
		p := testkit.Pod(namespace + "/m").Obj()
		if group != "" {
			p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
		}
		return p
	}
	podAdd, groupAdd, groupUpdate, jobAdd := Event{Resource: unscheduledPod, Action: Add}, Event{Resource: podGroup, Action: Add}, Event{Resource: podGroup, Action: Update}, Event{Resource: compositePodGroup, Action: Add}
	// The tree: job above x and y, other above z; g has no parent.
	type test struct {
		name, why  string
		event      Event
		old, new   any
		pod        *v1.Pod
		off, trees bool // with the gate Composites off and on
	}
	waits, nameless := member("default", "x"), member("default", "")
	nameless.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: new(string)}
	testkit.Run(t, []test{
		{"pod of the group", "one more is known", podAdd, nil, member("default", "x"), waits, true, true},
		{"pod of a sibling", "its tree alone counts", podAdd, nil, member("default", "y"), waits, false, true},
		{"pod of another tree", "it is of no use", podAdd, nil, member("default", "z"), waits, false, false},
		{"pod of a group without object", "nobody knows its tree", podAdd, nil, member("default", "none"), waits, false, false},
		{"pod without a group", "it is of no use", podAdd, nil, member("default", ""), waits, false, false},
		{"pod without a group, and one whose group has no name", "it is of no use", podAdd, nil, member("default", ""), nameless, false, false},
		{"pod of another namespace", "a group of the same name", podAdd, nil, member("elsewhere", "x"), waits, false, false},
		{"assigned pod of the group", "one more is known", Event{Resource: assignedPod, Action: Add}, nil, member("default", "x"), waits, true, true},
		{"no pod", "an event that says nothing", podAdd, nil, nil, waits, true, true},
		{"another object", "an event that says nothing", podAdd, nil, &v1.Node{}, waits, true, true},
		{"a nil pod", "an event that says nothing", podAdd, nil, (*v1.Pod)(nil), waits, true, true},
		{"the group", "it is there", groupAdd, nil, gang("default", "x", &one), waits, true, true},
		{"a sibling", "its tree alone counts", groupAdd, nil, gang("default", "y", &one), waits, false, true},
		{"another group", "it is of no use", groupAdd, nil, gang("default", "z", &one), waits, false, false},
		{"a group of another namespace", "it is of no use", groupAdd, nil, gang("elsewhere", "x", &one), waits, false, false},
		{"a nil group", "an event that says nothing", groupAdd, nil, (*podgroup.Group)(nil), waits, true, true},
		{"no group", "an event that says nothing", groupAdd, nil, &v1.Node{}, waits, true, true},
		{"smaller minimum", "enough pods may be known", groupUpdate, gang("default", "x", &two), gang("default", "x", &one), waits, true, true},
		{"equal minimum", "nothing changes", groupUpdate, gang("default", "x", &one), gang("default", "x", &one), waits, false, false},
		{"larger minimum", "it is of no use", groupUpdate, gang("default", "x", &one), gang("default", "x", &two), waits, false, false},
		{"basic before", "it never waited", groupUpdate, gang("default", "x", nil), gang("default", "x", &one), waits, false, false},
		{"basic after", "policies do not change", groupUpdate, gang("default", "x", &two), gang("default", "x", nil), waits, false, false},
		{"minimum of another", "it is of no use", groupUpdate, gang("default", "z", &two), gang("default", "z", &one), waits, false, false},
		{"no old group", "an event that says nothing", groupUpdate, nil, gang("default", "x", &one), waits, true, true},
		{"no new group", "an event that says nothing", groupUpdate, gang("default", "x", &one), nil, waits, true, true},
		{"nil old group", "an event that says nothing", groupUpdate, (*podgroup.Group)(nil), gang("default", "x", &one), waits, true, true},
		{"nil new group", "an event that says nothing", groupUpdate, gang("default", "x", &one), (*podgroup.Group)(nil), waits, true, true},
		{"the composite group", "it is above", jobAdd, nil, job("default", "job"), waits, false, true},
		{"another composite group", "it is of no use", jobAdd, nil, job("default", "other"), waits, false, false},
		{"a composite group with the name of a group", "it is another object", jobAdd, nil, job("default", "x"), waits, false, false},
		{"a composite group of another namespace", "it is of no use", jobAdd, nil, job("elsewhere", "job"), waits, false, false},
		{"no composite group", "an event that says nothing", jobAdd, nil, nil, waits, false, true},
		{"a nil composite group", "an event that says nothing", jobAdd, nil, (*podgroup.Composite)(nil), waits, false, true},
		{"a pod without a group waits", "nothing concerns it", groupAdd, nil, gang("default", "x", &one), member("default", ""), false, false},
		{"a pod without a group waits for pods", "nothing concerns it", podAdd, nil, member("default", "x"), member("default", ""), false, false},
		{"a pod without a group waits for composites", "nothing concerns it", jobAdd, nil, job("default", "job"), member("default", ""), false, false},
		{"a pod whose group is gone waits", "its tree is not known", podAdd, nil, member("default", "y"), member("default", "none"), false, false},
		{"a pod whose group is gone waits for composites", "its tree is not known", jobAdd, nil, job("default", "job"), member("default", "none"), false, false},
	}, func(t *testing.T, c test) {
		for _, composites := range []bool{false, true} {
			w := newClique(t, podgroup.Gates{Topology: composites, Composites: composites})
			w.composite("job", "", 1)
			w.composite("other", "", 1)
			w.group("x", "job", 1, 0)
			w.group("y", "job", 1, 0)
			w.group("z", "other", 1, 0)
			wants, registered := false, false
			for _, r := range w.q.o.Groups.Events() {
				require.Equal(t, pluginGang, r.Plugin)
				if r.Event.matches(c.event) {
					yes, err := r.Hint(c.pod, c.old, c.new)
					require.NoError(t, err)
					wants, registered = wants || yes, true
				}
			}
			require.Equal(t, composites || c.event.Resource != compositePodGroup, registered)
			require.Equal(t, map[bool]bool{false: c.off, true: c.trees}[composites], wants, "composites %t", composites)
		}
	})
	w := newClique(t, podgroup.Gates{})
	v := w.q.o.Groups.Gate().Check(member("default", "none"))
	require.ErrorIs(t, v.Err, podgroup.ErrNoObject)
	require.Zero(t, w.q.o.Groups.Gate().Check(member("default", "")))
	w.group("y", "", 3, 0)
	require.Equal(t, GateVerdict{Refuse: true, Message: "waiting for minCount pods from a gang to appear in scheduling queue"}, w.q.o.Groups.Gate().Check(member("default", "y")), "the group of the pod's namespace")
	require.ErrorIs(t, w.q.o.Groups.Gate().Check(member("elsewhere", "y")).Err, podgroup.ErrNoObject)
}

// Moves, counts and errors of attempts of roots.
func TestGroupAttempts(t *testing.T) {
	c := newClique(t, podgroup.Gates{})
	c.group("g", "", 1, 0)
	c.come("g", "a", "b")
	e, moves := c.q.Pop(c.now)
	require.Equal(t, []string{"default/podgroup/g: active -> in flight (PodPopped)"}, texts(moves))
	require.Equal(t, 1, e.Attempts)
	a, b := e.Members[0], e.Members[1]
	require.Equal(t, []int{1, 1}, []int{a.Attempts, b.Attempts})
	for _, wrong := range []*Entry{nil, {}, a} {
		_, err := c.q.ReturnRoot(wrong, RootResult{}, c.now)
		require.Error(t, err)
	}
	_, err := c.q.ReturnRoot(a, RootResult{}, c.now)
	require.ErrorIs(t, err, ErrNotTried)
	_, err = c.q.ReturnRoot(nil, RootResult{}, c.now)
	require.ErrorIs(t, err, ErrNoPod)
	moves, err = c.q.ReturnRoot(e, RootResult{RootFailed, []MemberFailure{{a, Failure{}}, {nil, Failure{}}, {&Entry{Pod: c.pod("b")}, Failure{}}}}, c.now)
	require.NoError(t, err)
	require.Equal(t, []string{"default/podgroup/g: in flight -> error backoff (ScheduleAttemptFailure)"}, texts(moves))
	require.Equal(t, []int{1, 0, 1}, []int{e.ConsecutiveErrorsCount, e.UnschedulableCount, a.ConsecutiveErrorsCount})
	require.Equal(t, "error backoff: a; in flight: b", c.where())
	moves = c.q.Done(b.Pod)
	require.Equal(t, []string{"default/b: in flight -> nowhere (AttemptDone)"}, texts(moves))
	_, err = c.q.ReturnRoot(e, RootResult{}, c.now)
	require.ErrorIs(t, err, ErrNotTried, "an attempt ends once")

	c.at(5 * time.Second)
	c.q.Advance(c.now)
	e, _ = c.q.Pop(c.now)
	_, err = c.q.ReturnRoot(e, RootResult{RootUnschedulable, []MemberFailure{{e.Members[0], Failure{Rejecters: []string{"P"}}}}}, c.now)
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 2}, []int{e.ConsecutiveErrorsCount, e.UnschedulableCount, e.Attempts}, "errors in a row end")
	require.Equal(t, c.now, e.Timestamp)

	c.at(10 * time.Second)
	c.q.Advance(c.now)
	e, _ = c.q.Pop(c.now)
	before := e.Timestamp
	_, err = c.q.ReturnRoot(e, RootResult{RootScheduled, []MemberFailure{{e.Members[0], Failure{Rejecters: []string{"P"}}}}}, c.now)
	require.NoError(t, err)
	require.Equal(t, []int{0, 0}, []int{e.ConsecutiveErrorsCount, e.UnschedulableCount})
	require.Equal(t, before, e.Timestamp, "the rest of a success keeps its time")
	require.True(t, e.BackoffExpiration.IsZero())
	require.Equal(t, "active: a", c.where())

	e, _ = c.q.Pop(c.now)
	c.come("g", "late")
	c.q.Done(e.Members[0].Pod)
	c.at(11 * time.Second)
	moves, err = c.q.ReturnRoot(e, RootResult{Outcome: RootScheduled}, c.now)
	require.NoError(t, err)
	require.Equal(t, c.now, e.Timestamp, "no member of the attempt is left")
	require.Equal(t, []string{"default/podgroup/g: in flight -> active (ScheduleAttemptFailure)"}, texts(moves))
	e, _ = c.q.Pop(c.now)
	c.q.Done(e.Members[0].Pod)
	moves, err = c.q.ReturnRoot(e, RootResult{Outcome: RootScheduled}, c.now)
	require.NoError(t, err)
	require.Equal(t, []string{"default/podgroup/g: in flight -> nowhere (AttemptDone)"}, texts(moves))
	require.Equal(t, Nowhere, e.Place())
	require.Empty(t, c.where())
}

func texts(moves []Move) (out []string) {
	for _, m := range moves {
		out = append(out, m.String())
	}
	return out
}

// What an event does to a gated root: a member that does not skip it is enough, and a PreCheck leaves members out.
func TestGroupEvents(t *testing.T) {
	c := newClique(t, podgroup.Gates{})
	c.group("g", "", 1, 0)
	c.come("g", "a", "b!")
	b := c.pod("b")
	open := ungated(b)
	event := Event{Resource: targetPod, Action: UpdatePodSchedulingGatesEliminated}
	require.Equal(t, "gated: a b", c.where())
	require.Empty(t, c.q.Move(Change{Event: event, Old: b, New: open, PreCheck: func(p *v1.Pod) bool { return false }}, c.now), "nobody may move")
	moves, err := c.q.Update(b, open, c.now)
	require.NoError(t, err)
	require.Equal(t, []string{"default/podgroup/g: gated -> active (TargetPodUpdatePodSchedulingGatesEliminated)"}, texts(moves), "a, which nothing rejected, says so")
	moves = c.q.Delete(open)
	require.Equal(t, []string{"default/b: active -> nowhere (PodDeleted)"}, texts(moves))
	delete(c.pods, "b")
	moves = c.q.Delete(c.pod("a"))
	require.Equal(t, []string{"default/podgroup/g: active -> nowhere (PodDeleted)", "default/a: active -> nowhere (PodDeleted)"}, texts(moves))
	delete(c.pods, "a")

	// Who comes is told with the place of its root.
	c.group("h", "", 2, 0)
	p := testkit.Pod("default/h1").Obj()
	name := "h"
	p.UID, p.Spec.SchedulingGroup = "h1", &v1.PodSchedulingGroup{PodGroupName: &name}
	c.pods["h1"] = p
	moves, err = c.q.Add(p, c.now)
	require.NoError(t, err)
	require.Equal(t, []string{"default/podgroup/h: nowhere -> gated (UnscheduledPodAdd, GangScheduling)", "default/h1: nowhere -> gated (UnscheduledPodAdd)"}, texts(moves))
	x := c.q.Explain(p, c.now)
	require.True(t, x.Found)
	require.Equal(t, []any{Gated, "GangScheduling", podgroup.TextQuorumGate}, []any{x.Place, x.Gate, x.GateMessage})
	require.NotEmpty(t, x.Waits)
	again, found := c.q.Lookup(p)
	require.True(t, found)
	require.Same(t, p, again.Pod)
	e, _ := c.q.PopPod(p, c.now)
	require.Nil(t, e, "a gate holds it")
	c.come("h", "h2")
	e, _ = c.q.PopPod(p, c.now)
	require.Len(t, e.Members, 2)
	_, err = c.q.Return(e.Members[0], Failure{}, c.now)
	require.NoError(t, err)
	require.Equal(t, "in flight: h2; pending: h1", c.where(), "a member that is not bound waits for the end of the attempt")
	_, err = c.q.ReturnRoot(e, RootResult{Outcome: RootScheduled}, c.now)
	require.NoError(t, err)
	require.Equal(t, "active: h1; in flight: h2", c.where())
}

// A gated root moves by its first member of the best verdict, whose plugin is told. A PreCheck leaves members out.
func TestGroupVerdicts(t *testing.T) {
	podAdd := Event{Resource: unscheduledPod, Action: Add}
	type test struct {
		name, why string
		check     func(pod *v1.Pod) bool
		want      []string
	}
	testkit.Run(t, []test{
		{"all", "a and b say the same: a is first", nil, []string{"default/podgroup/g: gated -> active (UnscheduledPodAdd, A)"}},
		{"b", "a and c are left out", func(pod *v1.Pod) bool { return pod.Name == "b" }, []string{"default/podgroup/g: gated -> active (UnscheduledPodAdd, B)"}},
		{"none", "all are left out", func(*v1.Pod) bool { return false }, nil},
	}, func(t *testing.T, c test) {
		w := newClique(t, podgroup.Gates{}, Registration{"A", podAdd, nil}, Registration{"B", podAdd, nil}, Registration{"R", nodeAdd, nil})
		w.group("g", "", 2, 0)
		w.come("g", "a", "b")
		e, _ := w.pop()
		_, err := w.q.ReturnRoot(e, RootResult{RootUnschedulable, []MemberFailure{{e.Members[0], Failure{Rejecters: []string{"A"}}}, {e.Members[1], Failure{Rejecters: []string{"B"}, Pending: []string{"R"}}}}}, w.now)
		require.NoError(t, err)
		w.group("g", "", 4, 0)
		w.come("g", "c")
		require.Equal(t, "gated: a b c", w.where())
		w.at(time.Minute)
		last := w.pod("a").DeepCopy()
		last.Name, last.UID = "d", "d"
		w.pods["d"] = last
		require.Equal(t, c.want, texts(w.q.Move(Change{Event: podAdd, New: last, PreCheck: c.check}, w.now)), c.why)
	})
}

// A pod that is in flight and comes again leaves its root when that is tried.
func TestMemberInFlightComesAgain(t *testing.T) {
	c := newClique(t, podgroup.Gates{})
	c.group("g", "", 1, 0)
	c.come("g", "a", "b")
	e, _ := c.pop()
	_, err := c.q.ReturnRoot(e, RootResult{Outcome: RootScheduled}, c.now)
	require.NoError(t, err)
	c.q.Done(c.pod("b"))
	for _, name := range []string{"a", "b"} {
		_, err = c.q.Add(c.pod(name), c.now)
		require.NoError(t, err)
	}
	again := c.q.members[keyOf(c.pod("a"))]
	require.Equal(t, Active, again.Place())
	root, moves := c.q.Pop(c.now)
	require.Equal(t, []string{"default/a: active -> nowhere (Duplicate)", "default/podgroup/g: active -> in flight (PodPopped)"}, texts(moves))
	require.Equal(t, Nowhere, again.Place())
	require.Len(t, root.Members, 1)
	require.Equal(t, "in flight: a b", c.where())
}

// An event may lack the object of a group.
func TestEventWithoutGroup(t *testing.T) {
	c := newClique(t, podgroup.Gates{Topology: true, Composites: true})
	c.come("g", "a")
	for _, x := range []Change{
		{Event: Event{Resource: podGroup, Action: Add}, New: (*podgroup.Group)(nil)},
		{Event: Event{Resource: compositePodGroup, Action: Add}, New: (*podgroup.Composite)(nil)},
		{Event: Event{Resource: compositePodGroup, Action: Delete}, Old: (*podgroup.Composite)(nil)},
	} {
		require.Empty(t, c.q.Move(x, c.now))
		require.Equal(t, "incomplete: a", c.where())
	}
}
