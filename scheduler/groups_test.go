package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/testkit/situation"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/queue"
)

// PatchGroup writes a condition and reports it, as informers do.
func (a *server) PatchGroup(_ context.Context, g *podgroup.Group, c metav1.Condition) error {
	next := *g
	next.Conditions = append(slices.DeleteFunc(slices.Clone(g.Conditions), func(x metav1.Condition) bool { return x.Type == c.Type }), c)
	a.mu.Lock()
	a.patches = append(a.patches, fmt.Sprintf("group %s: %s %s %q", g.Name, c.Status, c.Reason, c.Message))
	a.mu.Unlock()
	a.s.Set(g, &next)
	return nil
}

// groupRig plays a situation: its queued pods come one after the other.
func groupRig(t *testing.T, text string, profile ...Profile) *rig {
	s, err := situation.Parse(text)
	require.NoError(t, err)
	gates := s.Gates
	gates.Claims = false
	return playGroups(t, s, Options{Groups: &gates, Profiles: profile})
}

func playGroups(t *testing.T, s *situation.Situation, o Options) *rig {
	r := newRig(t, o, s.Nodes, s.Running...)
	for _, g := range s.Composites {
		r.s.Set(nil, g)
	}
	for _, g := range s.Groups {
		r.s.Set(nil, g)
	}
	for _, b := range s.Budgets {
		r.s.Set(nil, b)
	}
	r.add(s.Queued...)
	return r
}

// outcome says of each pod that was queued where it is or what its condition says, and of each group what its condition says.
func (r *rig) outcome(s *situation.Situation) string {
	var out []string
	for _, p := range s.Queued {
		now := r.pods[podinfo.Name(p)]
		switch {
		case now == nil:
			out = append(out, p.Name+" gone")
		case now.Spec.NodeName != "":
			out = append(out, p.Name+" "+now.Spec.NodeName)
		default:
			text := ""
			for _, c := range now.Status.Conditions {
				if c.Type == v1.PodScheduled {
					text = fmt.Sprintf(" %s: %s", c.Reason, c.Message)
				}
			}
			if n := now.Status.NominatedNodeName; n != "" {
				text += " (" + n + ")"
			}
			if text != "" {
				out = append(out, p.Name+text)
			}
		}
	}
	for _, g := range s.Groups {
		for _, c := range r.s.groups.Group(g.Namespace, g.Name).Conditions {
			out = append(out, strings.TrimSuffix(fmt.Sprintf("%s %s: %s", g.Name, c.Reason, c.Message), ": "))
		}
	}
	return strings.Join(out, "\n")
}

// play runs attempts until none is due for a second, or a number of seconds.
func (r *rig) play(seconds int) {
	for r.step() {
	}
	for range seconds {
		r.clock.advance(time.Second)
		r.s.Tick()
		r.work()
		for r.step() {
		}
	}
}

// The worked examples of cycles of groups.
func TestGroupCycles(t *testing.T) {
	const (
		novic = ", pod group preemption: No preemption victims found for incoming preemptor"
		gu    = "pod group is unschedulable, "
	)
	type test struct {
		name, why, text string
		seconds         int
		want            []string
	}
	testkit.Run(t, []test{
		{"E3", "a gang that fits", "node n1:4; group g gang2; pod a:1 in=g; pod b:1 in=g", 0, []string{"a n1", "b n1", "g Scheduled"}},
		{"E4", "a gang of which one member has no room", "node n1:2; group g gang3; pod a:1 in=g; pod b:1 in=g; pod c:1 in=g", 0, []string{
			"a Unschedulable: " + gu + "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining" + novic,
			"b Unschedulable: " + gu + "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining" + novic,
			"c Unschedulable: 0/1 nodes are available: 1 Insufficient cpu.",
			"g Unschedulable: minCount (3) cannot be satisfied: 2 scheduled, 0 remaining" + novic}},
		{"E6", "a member that is too many is tried again at once", "node n1:2; group g gang2; pod a:1 in=g; pod b:1 in=g; pod c:1 in=g", 0, []string{
			"a n1", "b n1", "c Unschedulable: 0/1 nodes are available: 1 Insufficient cpu.", "g Scheduled"}},
		{"E8", "a gang that waits for a pod has no condition", "node n1:4; group g gang3; pod a:1 in=g; pod b:1 in=g", 9, nil},
		{"E10", "members that disagree", "node n1:4; group g gang2 ^5; pod a:1 in=g ^5; pod b:1 in=g ^7", 0, []string{
			"a SchedulerError: all pods in a single pod group should have the same priority as the pod group's priority, got 7 and 5",
			"b SchedulerError: all pods in a single pod group should have the same priority as the pod group's priority, got 7 and 5",
			"g SchedulerError: all pods in a single pod group should have the same priority as the pod group's priority, got 7 and 5"}},
		{"E45", "a tree of which one child has no room", "gates=C; node n1:2; composite job gang2; group x gang1 parent=job; group y gang2 parent=job; pod xa:1 in=x; pod ya:1 in=y; pod yb:1 in=y", 0, []string{
			"xa Unschedulable: " + gu + "0/1 placements are available, first placement status: minCount (2) cannot be satisfied: 1 scheduled, 0 remaining",
			"ya Unschedulable: " + gu + gu + "0/1 placements are available, first placement status: minCount (2) cannot be satisfied: 1 scheduled, 0 remaining" + novic,
			"yb Unschedulable: 0/1 nodes are available: 1 Insufficient cpu.",
			"x Unschedulable: " + gu + "0/1 placements are available, first placement status: minCount (2) cannot be satisfied: 1 scheduled, 0 remaining" + novic + novic,
			"y Unschedulable: " + gu + "0/1 placements are available, first placement status: minCount (2) cannot be satisfied: 1 scheduled, 0 remaining" + novic}},
		{"E55", "a gang preempts, and is bound when the victims are gone", "node n1:2; node n2:2; pod v1:2 on=n1 ^1; pod v2:2 on=n2 ^1; group g gang2 ^10; pod a:2 in=g ^10; pod b:2 in=g ^10", 3, []string{"a n1", "b n2", "g Scheduled"}},
		{"E71", "the rest of a gang preempts in its next cycle", "node n1:2; pod v1:1 on=n1 ^1; group g gang1 ^10; pod a:1 in=g ^10; pod b:1 in=g ^10", 3, []string{"a n1", "b n1", "g Scheduled"}},
	}, func(t *testing.T, c test) {
		s, err := situation.Parse(c.text)
		require.NoError(t, err)
		gates := s.Gates
		r := playGroups(t, s, Options{Groups: &gates})
		r.play(c.seconds)
		require.Equal(t, strings.Join(c.want, "\n"), r.outcome(s))
		require.Empty(t, r.errs)
	})
}

// With CompleteGroups a gang is bound that v1.37 leaves waiting (E22), and one without a placement gets the same texts.
func TestCompleteGroups(t *testing.T) {
	const trap, none = "node big:4; node small:2; group g gang2; pod p1:2 in=g; pod p2:4 in=g", "node n1:3; node n2:3; group g gang3; pod a:2 in=g; pod b:2 in=g; pod c:2 in=g"
	outcome := func(text string, complete bool) string {
		s, err := situation.Parse(text)
		require.NoError(t, err)
		r := playGroups(t, s, Options{Groups: &podgroup.Gates{}, CompleteGroups: complete})
		r.play(0)
		require.Empty(t, r.errs)
		return r.outcome(s)
	}
	require.Contains(t, outcome(trap, false), "g Unschedulable")
	require.Equal(t, "p1 small\np2 big\ng Scheduled", outcome(trap, true))
	require.Equal(t, outcome(none, false), outcome(none, true))
}

// A group's victims are told that a group took their room, and the group waits until they leave.
func TestGroupPreemption(t *testing.T) {
	r := groupRig(t, "node n1:2; node n2:2; pod v1:2 on=n1 ^1; pod v2:2 on=n2 ^1; group g gang2 ^10; pod a:2 in=g ^10; pod b:2 in=g ^10")
	a, uid := r.pods["d/a"], r.s.groups.Group("d", "g").UID
	require.True(t, r.s.TryScheduleOne(ctx))
	require.Len(t, r.results[0].Victims, 2)
	require.Equal(t, "n1", r.pods["d/a"].Status.NominatedNodeName)
	require.Equal(t, "n2", r.pods["d/b"].Status.NominatedNodeName)
	require.Equal(t, queue.Gated, r.place(a))
	var e *queue.Entry
	r.s.queue.Read(func(q *queue.Queue) { e, _ = q.Lookup(a) })
	require.Equal(t, "waiting for the preemption for this pod group to be finished", e.GateMessage)
	r.work()
	require.Equal(t, []string{"v1", "v2"}, r.deleted)
	require.Contains(t, r.events, fmt.Sprintf("v1: Normal Preempted/Preempting Preempted by podgroup %s on node cluster", uid))
	require.Contains(t, strings.Join(r.patches, "\n"), "default-scheduler: preempting to accommodate a higher priority podgroup")
	require.Empty(t, r.errs)
}

// halfGang is a rig with a gang of two whose second member finds no node while the probe refuses it.
func halfGang(t *testing.T) (r *rig, s *situation.Situation, script *script, b *probe) {
	script, list := probes(1)
	list[0].perPod["b"] = map[Point]*Status{Reserve: NewStatus(Unschedulable, "no")}
	profile, plugins := on(list, Reserve)
	s, err := situation.Parse("node n1:4; group g gang2; pod a:1 in=g; pod b:1 in=g")
	require.NoError(t, err)
	r = playGroups(t, s, Options{Groups: &podgroup.Gates{}, Profiles: []Profile{profile}, Plugins: plugins})
	require.True(t, r.step())
	return r, s, script, list[0]
}

// A member that Reserve rejects fails alone when its gang has enough others (E27).
func TestReserveRejectsAMember(t *testing.T) {
	_, list := probes(1)
	list[0].perPod["b"] = map[Point]*Status{Reserve: NewStatus(Unschedulable, "no reserve")}
	profile, plugins := on(list, Reserve)
	s, err := situation.Parse("node n1:4; group g gang2; pod a:1 in=g; pod b:1 in=g; pod c:1 in=g")
	require.NoError(t, err)
	r := playGroups(t, s, Options{Groups: &podgroup.Gates{}, Profiles: []Profile{profile}, Plugins: plugins})
	require.True(t, r.step())
	require.Equal(t, "a n1\nb Unschedulable: 0/1 nodes are available: 1 no reserve.\nc n1\ng Scheduled", r.outcome(s))
	require.Zero(t, r.s.Waiting())
	require.Empty(t, r.errs)
}

// A group that preempts for a member that no filter rejected stays gated when its victim is gone, until the flush (E91).
func TestPreemptionWithoutRejection(t *testing.T) {
	s, err := situation.Parse("gates=C; node n1:3; composite job gang2 ^10; group x gang1 ^10 parent=job; group y gang1 ^10 parent=job; " +
		"pod xr:1 in=x on=n1 ^10; pod yr:1 in=y on=n1 ^10; pod v:1 on=n1 ^1; pod xm:1 in=x ^10")
	require.NoError(t, err)
	gates := s.Gates
	r := playGroups(t, s, Options{Groups: &gates})
	r.play(9)
	require.Equal(t, []string{"v"}, r.deleted)
	require.Equal(t, queue.Gated, r.place(r.pods["d/xm"]))
	require.Contains(t, r.outcome(s), "xm Unschedulable: pod group is unschedulable (n1)")
	r.clock.advance(6 * time.Minute)
	r.play(1)
	require.Contains(t, r.outcome(s), "xm n1")
	require.Empty(t, r.errs)
}

// A cycle of a group reads one snapshot: a node that comes during the cycle is for the next one (PG3.1).
func TestGroupCycleReadsOneSnapshot(t *testing.T) {
	s, err := situation.Parse("node n1:1; node n2:1; group g gang2; pod a:1 in=g; pod b:1 in=g")
	require.NoError(t, err)
	late := s.Nodes[1]
	s.Nodes = s.Nodes[:1]
	var r *rig
	came := false
	r = playGroups(t, s, Options{Groups: &podgroup.Gates{}, OnAttempt: func(*v1.Pod, *cluster.Snapshot) {
		if !came {
			came = true
			r.s.Set(nil, late)
		}
	}})
	require.True(t, r.step())
	require.Contains(t, r.outcome(s), "b Unschedulable: 0/1 nodes are available: 1 Insufficient cpu.")
	require.False(t, r.step(), "the group rests, although a node came")
	r.play(3)
	require.Equal(t, "a n1\nb n2\ng Scheduled", r.outcome(s))
	require.Empty(t, r.errs)
}

// Known members are the pods of the scheduler's own profiles that wait, and all pods on nodes that have not ended (PG2.6).
func TestKnownMembers(t *testing.T) {
	type test struct {
		name, why string
		change    func(p *v1.Pod)
		known     int
		place     queue.Place
	}
	terminating := func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: newClock().Now()} }
	testkit.Run(t, []test{
		{"a pod that waits", "it is one of the gang", func(*v1.Pod) {}, 3, queue.Active},
		{"a gated pod", "it is known, and gates the others", func(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "x"}} }, 3, queue.Gated},
		{"a terminating pod", "it is known until it is gone", terminating, 3, queue.Active},
		{"another scheduler's pod", "this scheduler does not see it", func(p *v1.Pod) { p.Spec.SchedulerName = "other" }, 2, queue.Gated},
		{"another scheduler's pod on a node", "whoever placed it", func(p *v1.Pod) { p.Spec.SchedulerName, p.Spec.NodeName = "other", "n1" }, 3, queue.Active},
		{"a terminating pod on a node", "it still holds room", func(p *v1.Pod) { terminating(p); p.Spec.NodeName = "n1" }, 3, queue.Active},
		{"a pod that has ended", "it holds nothing", func(p *v1.Pod) { p.Spec.NodeName, p.Status.Phase = "n1", v1.PodSucceeded }, 2, queue.Gated},
		{"a pod that has failed", "it holds nothing", func(p *v1.Pod) { p.Spec.NodeName, p.Status.Phase = "n1", v1.PodFailed }, 2, queue.Gated},
	}, func(t *testing.T, c test) {
		s, err := situation.Parse("node n1:4; group g gang3; pod a:1 in=g; pod b:1 in=g; pod c:1 in=g")
		require.NoError(t, err)
		third := s.Queued[2]
		s.Queued = s.Queued[:2]
		r := playGroups(t, s, Options{Groups: &podgroup.Gates{}})
		require.Equal(t, queue.Gated, r.place(r.pods["d/a"]))
		c.change(third)
		r.add(third)
		require.Equal(t, c.known, r.s.groups.count(s.Groups[0]))
		require.Equal(t, c.place, r.place(r.pods["d/a"]))
		r.s.DeletePod(third)
		require.Equal(t, 2, r.s.groups.count(s.Groups[0]))
		require.Empty(t, r.errs)
	})
}

// A member that goes counts while the gate of the others is asked (PG2.11).
func TestDeletedMemberCounts(t *testing.T) {
	r := groupRig(t, "node n1:2; group g gang3; pod a:4 in=g; pod b:4 in=g; pod c:4 in=g")
	require.True(t, r.step())
	require.Equal(t, queue.ErrorBackoff, r.place(r.pods["d/c"]))
	r.s.DeletePod(r.pods["d/a"])
	require.Equal(t, queue.ErrorBackoff, r.place(r.pods["d/c"]))
	r.s.DeletePod(r.pods["d/b"])
	require.Equal(t, queue.Gated, r.place(r.pods["d/c"]))
	require.Empty(t, r.errs)
}

// Each member counts its own failures: one that no filter rejected counts an error (PG7.4).
func TestMembersCountTheirFailures(t *testing.T) {
	r := groupRig(t, "node n1:2; group g gang3; pod a:1 in=g; pod b:1 in=g; pod c:1 in=g")
	require.True(t, r.step())
	var got []string
	r.s.queue.Read(func(q *queue.Queue) {
		for _, name := range []string{"d/a", "d/b", "d/c"} {
			e, ok := q.Lookup(r.pods[name])
			require.True(t, ok)
			got = append(got, fmt.Sprintf("%s: attempts %d, errors %d, unschedulable %d", name, e.Attempts, e.ConsecutiveErrorsCount, e.UnschedulableCount))
		}
	})
	require.Equal(t, []string{"d/a: attempts 1, errors 1, unschedulable 0", "d/b: attempts 1, errors 1, unschedulable 0", "d/c: attempts 1, errors 0, unschedulable 1"}, got)
	require.Empty(t, r.errs)
}

// Members that find nodes later are waited for: a pod that was placed waits on Permit until its gang is complete (E30).
func TestGangWaitsOnPermit(t *testing.T) {
	r, s, script, b := halfGang(t)
	require.Equal(t, 1, r.s.Waiting())
	require.Equal(t, queue.Active, r.place(r.pods["d/b"]))
	require.Equal(t, "a (n1)\nb Unschedulable: 0/1 nodes are available: 1 no.\ng Scheduled", r.outcome(s))
	delete(b.perPod, "b")
	require.True(t, r.step())
	require.Zero(t, r.s.Waiting())
	require.Equal(t, "a n1\nb n1\ng Scheduled", r.outcome(s))
	require.NotEmpty(t, script.take())
	require.Empty(t, r.errs)
}

// A member that waits for its gang is rejected after five minutes, alone.
func TestGangPatience(t *testing.T) {
	r, s, _, _ := halfGang(t)
	r.clock.advance(patience)
	r.s.waiting.expire(r.clock.Now())
	r.work()
	require.Zero(t, r.s.Waiting())
	require.Contains(t, r.outcome(s), "a Unschedulable: 0/1 nodes are available: 1 rejected due to timeout after waiting 5m0s at plugin GangScheduling.")
}

// Terminating members are dropped (E14), and a group that comes later frees its pods (E9).
func TestGroupMembersComeAndGo(t *testing.T) {
	s, err := situation.Parse("node n1:4; group g gang2; pod a:1 in=g; pod b:1 in=g; pod c:1 in=g")
	require.NoError(t, err)
	groups := s.Groups
	s.Groups = nil
	r := playGroups(t, s, Options{Groups: &podgroup.Gates{}})
	require.Equal(t, queue.Incomplete, r.place(r.pods["d/a"]))
	require.False(t, r.step())
	now := metav1.NewTime(r.clock.Now())
	require.NoError(t, r.change(r.pods["d/b"], func(old *v1.Pod) *v1.Pod {
		c := *old
		c.DeletionTimestamp = &now
		return &c
	}))
	r.s.Set(nil, groups[0])
	r.play(0)
	require.Equal(t, "a n1\nc n1", r.outcome(s))
	require.Contains(t, r.events, "b: Warning FailedScheduling/Scheduling skip schedule deleting pod: d/b")
	r.s.Remove(groups[0])
	require.Empty(t, r.errs)
}

// Groups need a client that writes them and a profile that is decided as a whole.
func TestGroupOptions(t *testing.T) {
	type test struct {
		name, why, want string
		change          func(o *Options)
	}
	_, list := probes(1)
	profile, plugins := on(list, Filter)
	testkit.Run(t, []test{
		{"a client without groups", "conditions could not be written", "client: must have PatchGroup, because groups are given", func(o *Options) { o.Client = struct{ Client }{o.Client} }},
		{"one by one", "groups are decided as a whole", "without OneByOne", func(o *Options) { o.OneByOne = true }},
		{"a foreign filter", "groups are decided by package placement", "filters and scores of package placement", func(o *Options) { o.Profiles, o.Plugins = []Profile{profile}, plugins }},
	}, func(t *testing.T, c test) {
		s, err := (&situation.Situation{}).Snapshot()
		require.NoError(t, err)
		o := Options{Client: &server{}, Groups: &podgroup.Gates{}}
		c.change(&o)
		_, err = New(s, o)
		require.ErrorContains(t, err, c.want)
	})
}
