package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
)

var every = []Point{PreEnqueue, PreFilter, Filter, PostFilter, PreScore, Score, Reserve, Permit, PreBind, Bind, PostBind}

// The test follows a pod from point to point through one attempt.
func TestOrderOfPoints(t *testing.T) {
	s, list := probes(1)
	r := bare(t, list, every...)
	r.add(pod("p")).step()
	require.Equal(t, "A.PreEnqueue A.PreFilter A.Filter:n1:0 A.Filter:n2:0 A.Filter:n3:0 A.PreScore A.Score:n1 A.Score:n2 A.Score:n3 A.Normalize "+
		"A.Reserve A.Permit A.PreFlight A.PreBind A.Bind A.PostBind", s.take())
	require.Equal(t, []string{"p: Normal Scheduled/Binding Successfully assigned default/p to n1"}, r.events)
	require.Equal(t, Scheduled, r.last().Outcome)
	require.Empty(t, r.errs)
}

func TestConditionsAndEvents(t *testing.T) {
	t.Run("rejected", func(t *testing.T) { // W7.4
		r := newRig(t, Options{}, three())
		p := testkit.Pod("default/big").Request("cpu=8").Obj()
		r.add(p).step()
		const text = "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
		require.Equal(t, []string{"big: Warning FailedScheduling/Scheduling " + text}, r.events)
		require.Equal(t, []string{fmt.Sprintf("big: PodScheduled=False Unschedulable %q", text)}, r.patches)
		r.s.queue.Activate(p)
		r.step()
		require.Len(t, r.patches, 1, "nothing changed, nothing is written")
		require.Len(t, r.events, 2)
	})
	t.Run("a long message", func(t *testing.T) { // W7.4
		_, list := probes(1)
		list[0].answer[Filter] = u(strings.Repeat("x", 2000))
		r := bare(t, list, Filter)
		r.add(pod("p")).step()
		note := strings.TrimPrefix(r.events[0], "p: Warning FailedScheduling/Scheduling ")
		require.Len(t, note, 1024)
		require.True(t, strings.HasSuffix(note, "x ..."))
		require.Greater(t, len(r.patches[0]), 2000, "the condition has it all")
	})
	t.Run("no nodes", func(t *testing.T) { // step 3, X8
		s, list := probes(1)
		p, reg := on(list, "-", PreFilter, PostFilter)
		r := newRig(t, Options{Profiles: []Profile{p}, Plugins: reg}, nil)
		x := pod("p")
		r.add(x).step()
		require.Empty(t, s.take(), "no plugin runs")
		require.Equal(t, "no nodes available to schedule pods", r.last().Message)
		require.Equal(t, Rejected, r.last().Outcome)
		require.Equal(t, queue.ErrorBackoff, r.place(x))
	})
	t.Run("deleting", func(t *testing.T) { // step 1
		r := newRig(t, Options{}, three())
		p := pod("p")
		r.add(p)
		going := *p
		now := metav1.Now()
		going.DeletionTimestamp = &now
		require.NoError(t, r.s.queue.Update(p, &going))
		require.True(t, r.step())
		require.Equal(t, []string{"p: Warning FailedScheduling/Scheduling skip schedule deleting pod: default/p"}, r.events)
		require.Empty(t, r.patches)
		require.Equal(t, queue.Nowhere, r.place(p))
	})
	t.Run("gone meanwhile", func(t *testing.T) { // W7.3
		_, list := probes(1)
		r := bare(t, list, Filter)
		p := pod("p")
		r.add(p)
		list[0].answer[Filter] = u("no")
		list[0].do[Filter] = func() { r.mu.Lock(); delete(r.pods, "default/p"); r.mu.Unlock() }
		r.step()
		require.Equal(t, queue.Nowhere, r.place(p))
		require.Len(t, r.events, 1, "the event is sent all the same")
	})
	t.Run("bound meanwhile", func(t *testing.T) { // W7.3
		_, list := probes(1)
		r := bare(t, list, Filter)
		p := pod("p")
		r.add(p)
		list[0].answer[Filter] = u("no")
		list[0].do[Filter] = func() {
			c := *p
			c.Spec.NodeName = "n2"
			r.mu.Lock()
			r.pods["default/p"] = &c
			r.mu.Unlock()
		}
		r.step()
		require.Equal(t, queue.Nowhere, r.place(p))
		require.Len(t, r.events, 1)
	})
	t.Run("another of that name", func(t *testing.T) { // W7.3
		_, list := probes(1)
		r := bare(t, list, Filter)
		p := pod("p")
		r.add(p)
		list[0].answer[Filter] = u("no")
		list[0].do[Filter] = func() {
			c := *p
			c.UID = "other"
			r.mu.Lock()
			r.pods["default/p"] = &c
			r.mu.Unlock()
		}
		r.step()
		require.Equal(t, queue.Nowhere, r.place(p))
		require.Empty(t, r.events, "and that is all")
	})
	t.Run("the nomination goes with an error", func(t *testing.T) { // W7.5
		_, list := probes(1)
		list[0].answer[Filter] = bad
		r := bare(t, list, Filter)
		p := pod("p")
		p.Status.NominatedNodeName = "gone"
		r.add(p).step()
		require.Equal(t, []string{`p: PodScheduled=False SchedulerError "running \"A\" filter plugin: broken" nominated=""`}, r.patches)
	})
	t.Run("no PostFilter plugin takes the nomination away", func(t *testing.T) { // W4.11, W7.5
		_, list := probes(1)
		list[0].answer[Filter] = u("no")
		r := bare(t, list, Filter)
		p := pod("p")
		p.Status.NominatedNodeName = "n1"
		r.add(p).step()
		require.Contains(t, r.patches[0], `nominated=""`)
	})
	t.Run("a PostFilter plugin that says nothing keeps it", func(t *testing.T) { // W7.5
		_, list := probes(1)
		list[0].answer[Filter], list[0].answer[PostFilter] = u("no"), u("sorry")
		r := bare(t, list, Filter, PostFilter)
		p := pod("p")
		p.Status.NominatedNodeName = "n1"
		r.add(p).step()
		require.NotContains(t, r.patches[0], "nominated")
		require.Equal(t, []*v1.Pod{r.pods["default/p"]}, r.s.queue.NominatedFor("n1"))
	})
}

// The nominated node is tried first and alone. If the nominated node does not take the pod, all nodes are tried.
func TestNominatedNodeFirst(t *testing.T) { // step 6, trap 11
	s, list := probes(1)
	r := bare(t, list, Filter, PreScore, Score)
	p := pod("p")
	p.Status.NominatedNodeName = "n2"
	r.add(p).step()
	require.Equal(t, "A.Filter:n2:0", s.take(), "no search, no scores")
	require.Equal(t, "n2", r.last().Node)
	require.Equal(t, 1, r.last().Evaluated)
	require.Equal(t, 1, r.last().Feasible)
	require.Zero(t, r.s.next, "the next search begins where it would have")

	q := pod("q")
	q.Status.NominatedNodeName = "n2"
	list[0].perPod["q"] = map[Point]*Status{Filter: u("no")}
	r.add(q).step()
	require.Equal(t, "A.Filter:n2:1 A.Filter:n1:0 A.Filter:n2:1 A.Filter:n3:0", s.take())
	require.Equal(t, 3, r.last().Evaluated)
}

// The nominated node is tried even if PreFilter plugins left it out. Its rejection counts.
func TestNominatedNodeOutside(t *testing.T) {
	type test struct {
		name, calls, node, message string
		filter                     *Status
		evaluated                  int
	}
	testkit.Run(t, []test{
		{"takes the pod", "A.PreFilter A.Filter:n3:0", "n3", "", nil, 1},
		{"rejects it", "A.PreFilter A.Filter:n3:0 A.Filter:n1:0", "", "0/3 nodes are available: 1 node(s) didn't satisfy plugin(s) [A], 2 no.", u("no"), 2},
		{"fails", "A.PreFilter A.Filter:n3:0 A.Filter:n1:0", "", `running "A" filter plugin: broken`, bad, 1},
	}, func(t *testing.T, c test) {
		s, list := probes(1)
		list[0].only, list[0].answer[Filter] = []string{"n1"}, c.filter
		r := bare(t, list, PreFilter, Filter)
		p := pod("p")
		p.Status.NominatedNodeName = "n3"
		r.add(p).step()
		require.Equal(t, c.calls, s.take())
		require.Equal(t, c.node, r.last().Node)
		require.Equal(t, c.message, r.last().Message)
		require.Equal(t, c.evaluated, r.last().Evaluated)
	})
}

// The search begins after the node that the last search looked at last.
func TestRotation(t *testing.T) { // W4.8, F10
	s, list := probes(1)
	r := bare(t, list, Filter)
	for k, want := range []string{"n1", "n2", "n3", "n1"} {
		r.add(pod(fmt.Sprint("p", k))).step()
		require.Equal(t, want, r.last().Node)
	}
	list[0].answer[Filter] = bad
	r.add(pod("e")).step()
	s.take()
	list[0].answer[Filter] = nil
	r.add(pod("f")).step()
	require.Equal(t, "n3", r.last().Node, "after an error too")
}

// A failed binding cycle wakes the pods that wait for room. After a rejection it does not wake the pod itself.
func TestFailedBindingWakesOthers(t *testing.T) {
	type test struct {
		name   string
		permit *Status
		bind   error
		self   queue.Place
	}
	testkit.Run(t, []test{
		{"rejection: not itself", u("no"), nil, queue.Unschedulable},
		{"error: itself too", nil, errors.New("conflict"), queue.ErrorBackoff},
	}, func(t *testing.T, c test) {
		_, list := probes(1)
		list[0].timeout = time.Hour
		list[0].events = []queue.Registration{{Event: queue.Event{Resource: "Pod", Action: queue.Delete}}}
		list[0].perPod["p"] = map[Point]*Status{Permit: NewStatus(Wait)}
		p, reg := on(list, Permit)
		r := newRig(t, Options{Profiles: []Profile{p}, Plugins: reg}, []*v1.Node{node("n1")})
		r.bindErr = func(*v1.Pod) error { return c.bind }
		first := testkit.Pod("default/p").Request("cpu=4").Obj()
		second := testkit.Pod("default/q").Request("cpu=4").Obj()
		r.failing["p"] = errors.New("the status cannot be written") // the removal of a nomination would be an event too
		r.add(first).step()
		r.add(second).step()
		require.Equal(t, queue.Unschedulable, r.place(second), "the room is taken")
		if c.permit != nil {
			r.s.waiting.reject(first.UID, "A", "no")
		} else {
			r.s.waiting.allow(first.UID, "A")
		}
		r.work()
		require.Equal(t, queue.Backoff, r.place(second), "the room is free")
		require.Equal(t, c.self, r.place(first))
	})
}

// Plugins may ask for other pods at the end of the scheduling cycle and at the end of the binding cycle.
func TestPodsToActivate(t *testing.T) { // step 15 and 22
	_, list := probes(1)
	p, reg := on(list, Filter, Reserve)
	asker := &activator{probe: list[0]}
	reg["A"] = func(any, *Handle) (Plugin, error) { return asker, nil }
	r := newRig(t, Options{Profiles: []Profile{p}, Plugins: reg}, three())
	sleeper := testkit.Pod("default/sleeper").Request("cpu=8").Obj()
	r.add(sleeper).step()
	require.Equal(t, queue.Unschedulable, r.place(sleeper))
	asker.wants = sleeper
	r.add(pod("p")).step()
	require.Equal(t, queue.Active, r.place(sleeper))
}

// A pod that is assumed already is not tried a second time. Nothing is reported.
func TestAssumedAlready(t *testing.T) { // step 1
	_, list := probes(1)
	r := bare(t, list, PreBind)
	p := pod("p")
	list[0].do[PreBind] = func() {
		require.NoError(t, r.s.queue.Add(p))
		require.True(t, r.s.TryScheduleOne(ctx))
		require.Equal(t, queue.Nowhere, r.place(p))
	}
	r.add(p).step()
	require.Len(t, r.results, 1)
	require.Len(t, r.events, 1)
	require.Equal(t, 1, r.bound["default/p"])
}

// A cluster that cannot be brought up to date fails the attempt. The scheduler goes on.
func TestSnapshotError(t *testing.T) { // step 2
	r := newRig(t, Options{}, three())
	p := pod("p")
	r.add(p)
	r.s.cache.later(func(*cluster.Snapshot) error { return errors.New("out of order") })
	r.step()
	require.Equal(t, SchedulingError, r.last().Outcome)
	require.Equal(t, "out of order", r.last().Message)
	require.Equal(t, queue.ErrorBackoff, r.place(p))
	r.s.queue.Activate(p)
	r.step()
	require.Equal(t, Scheduled, r.last().Outcome)
}

// The scheduler ignores a pod whose schedulerName no profile has.
func TestUnknownProfile(t *testing.T) { // step 1, W9.1
	r := newRig(t, Options{}, three())
	p := pod("p")
	p.Spec.SchedulerName = "other"
	r.add(p)
	require.False(t, r.step())
	require.NoError(t, r.s.queue.Add(p))
	require.True(t, r.step(), "dropped")
	require.Empty(t, r.results)
	require.Equal(t, queue.Nowhere, r.place(p))
}

// Two profiles with different plugins share the queue, the cache and the nodes.
func TestTwoProfiles(t *testing.T) { // W9.1
	s, list := probes(2)
	a, reg := on(list[:1], Filter)
	b, more := on(list[1:], Filter)
	require.NoError(t, reg.Merge(more))
	a.SchedulerName, b.SchedulerName = "a", "b"
	r := newRig(t, Options{Profiles: []Profile{a, b}, Plugins: reg}, []*v1.Node{node("n1")})
	for _, name := range []string{"a", "b"} {
		p := pod("p-" + name)
		p.Spec.SchedulerName = name
		r.add(p).step()
	}
	require.Equal(t, "A.Filter:n1:0 B.Filter:n1:1", s.take())
	require.Equal(t, "p-a p-b", r.on("n1"))
}

// Plugins find the waiting pods of all profiles.
func TestWaitingOfAnotherProfile(t *testing.T) { // W5.6
	_, list := probes(2)
	list[0].answer[Permit], list[0].timeout = NewStatus(Wait), time.Hour
	a, reg := on(list[:1], Permit)
	b, _ := on(list[1:], PostBind)
	a.SchedulerName, b.SchedulerName = "a", "b"
	var h *Handle
	reg["B"] = func(_ any, handle *Handle) (Plugin, error) { h = handle; return list[1], nil }
	r := newRig(t, Options{Profiles: []Profile{a, b}, Plugins: reg}, three())
	p := pod("p")
	p.Spec.SchedulerName = "a"
	r.add(p).step()
	require.Len(t, h.WaitingPods(), 1)
	require.Equal(t, "n1", h.WaitingPods()[0].Spec.NodeName)
	require.Equal(t, []string{"A"}, h.WaitsFor(p.UID))
	require.Empty(t, h.WaitsFor("unknown"))
	require.True(t, h.Allow(p.UID, "A"))
	require.False(t, h.Reject(p.UID, "A", "late"))
	r.work()
	require.Equal(t, Scheduled, r.last().Outcome)
}

type activator struct {
	*probe
	wants *v1.Pod
}

func (a *activator) Reserve(_ context.Context, s *State, _ *v1.Pod, _ string) *Status {
	s.PodsToActivate.Add(a.wants)
	return nil
}

// A pod that finishes while it waits leaves the queue.
func TestPendingPodFinishes(t *testing.T) {
	r := newRig(t, Options{}, three())
	x := pod("p")
	r.add(x)
	done := x.DeepCopy()
	done.Status.Phase = v1.PodFailed
	r.s.UpdatePod(x, done)
	require.Equal(t, queue.Nowhere, r.place(x))
	require.False(t, r.step())
}

// A failed attempt of a pod that has gone is reported once, without an error.
func TestFailedPodHasGone(t *testing.T) {
	eachRelease(t, "L9.4", func(t *testing.T, o Options, _ func(release.Version) bool) {
		r := newRig(t, o, three())
		r.failing["p"] = ErrGone
		r.add(sized("p", "9")).step()
		require.Empty(t, r.errs)
		require.Len(t, r.results, 1)
		r.s.o.OnAttempt = func(*v1.Pod, *cluster.Snapshot) {
			again := sized("q", "9")
			again.UID = "another"
			r.pods["default/q"] = again
		}
		r.add(sized("q", "9")).step()
		require.Len(t, r.results, 2, "the pod was made again under its name")
		require.Equal(t, "q", r.last().Pod.Name)
	})
}

// Pods that plugins want to be active are taken once, by name.
func TestPodsToActivateList(t *testing.T) {
	var p PodsToActivate
	a, b, other := pod("a"), pod("b"), testkit.Pod("other/a").Obj()
	for _, x := range []*v1.Pod{b, nil, a, other, a} {
		p.Add(x)
	}
	require.Equal(t, []*v1.Pod{a, b, other}, p.take())
	require.Empty(t, p.take())
}

// A running pod that asks for less makes a waiting pod schedulable; a running pod that asks for more does not.
func TestRunningPodScales(t *testing.T) {
	for _, c := range []struct {
		cpu  string
		want queue.Place
	}{{"1", queue.Backoff}, {"4", queue.Unschedulable}} {
		running := sized("r", "3")
		running.Spec.NodeName, running.Status.Phase = "n1", v1.PodRunning
		r := newRig(t, Options{}, []*v1.Node{node("n1")}, running)
		x := sized("p", "2")
		r.add(x).step()
		next := running.DeepCopy()
		next.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = quantity.MustParse(c.cpu)
		r.s.UpdatePod(running, next)
		require.Equal(t, c.want, r.place(x), c.cpu)
	}
}

// Objects that no pod waits for are no events.
func TestObjectsWithoutEvents(t *testing.T) {
	r := newRig(t, Options{}, three())
	r.add(pod("p"))
	require.NotNil(t, r.s.queue.TryPop())
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}}
	r.s.Set(nil, budget)
	r.s.Remove(budget)
	r.s.queue.Read(func(q *queue.Queue) { require.Len(t, q.InFlightEvents(), 1, "the pod itself") })
	r.s.AddNode(node("n4"))
	r.s.queue.Read(func(q *queue.Queue) { require.Len(t, q.InFlightEvents(), 2) })
}

// A pod that cannot be assumed, because the cluster shows it on a node already, loses its nomination: nobody keeps room for it.
func TestFailedAssumeEndsTheNomination(t *testing.T) {
	var r *rig
	r = newRig(t, Options{OnAttempt: func(pod *v1.Pod, _ *cluster.Snapshot) {
		r.s.cache.mu.Lock()
		defer r.s.cache.mu.Unlock()
		r.s.cache.pods[pod.UID] = &cached{pod: pod}
	}}, three())
	p := pod("p")
	p.Status.NominatedNodeName = "n1"
	r.add(p)
	require.Len(t, r.s.queue.NominatedFor("n1"), 1)
	r.step()
	require.Contains(t, r.last().Message, "is in the cache, so can't be assumed")
	require.Empty(t, r.s.queue.NominatedFor("n1"))
	require.Empty(t, r.pods["default/p"].Status.NominatedNodeName, "the status says so too")
}
