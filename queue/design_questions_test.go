package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// counterRig is the queue of the article on the scheduling queue (Kubernetes 1.28): two plugins with the registrations it
// quotes, and no hints.
func counterRig(t *testing.T) *rig {
	return newRig(t, Options{Legacy: Legacy{CycleCounter: true}, Profiles: map[string]Profile{defaultScheduler: {
		Gates: []Gate{SchedulingGates()},
		Events: append([]Registration{
			{"Fit", Event{"Pod", Delete, ""}, nil},
			{"Fit", Event{"Node", Add | update128, ""}, nil},
			{"NodeAffinity", Event{"Node", Add | UpdateNodeLabel, ""}, nil},
		}, custom128()...),
	}}})
}

// giveBack returns a pod with the present scheduling cycle, as kube-scheduler did.
func (r *rig) giveBack(name string, plugins ...string) {
	r.t.Helper()
	_, err := r.q.Return(r.held[name], Failure{Rejecters: plugins}, r.now)
	require.NoError(r.t, err)
}

// The questions that the article answers, in its order.
func TestQuestions(t *testing.T) {
	t.Run("1 backoff or unschedulable after a failure", func(t *testing.T) {
		r := counterRig(t)
		r.add("podA")
		r.pop()
		r.giveBack("podA", "NodeAffinity")
		r.is(Unschedulable, "podA")
		r.at(time.Minute)
		r.event(nodeAdd)
		r.pop()
		r.event(nodeAdd) // a node of region cd arrives while podA is tried
		r.giveBack("podA", "NodeAffinity")
		r.is(Backoff, "podA")
	})
	t.Run("2 backoff waits for time and unschedulable for events", func(t *testing.T) {
		r := counterRig(t)
		r.add("u", "b")
		r.pop()
		r.giveBack("u", "NodeAffinity")
		r.pop()
		r.event(Event{"storage.k8s.io/CSINode", Add, ""}) // for the custom plugin only: u stays, b was in flight
		r.giveBack("b", "NodeAffinity")
		r.is(Unschedulable, "u")
		r.is(Backoff, "b")
		r.at(2 * time.Second)
		r.q.Advance(r.now)
		r.is(Unschedulable, "u")
		r.is(Active, "b")
	})
	t.Run("3 nobody is forgotten", func(t *testing.T) {
		r := counterRig(t)
		r.add("a")
		r.pop()
		r.giveBack("a", "Nobody")
		r.at(5*time.Minute + 30*time.Second)
		require.Equal(t, []string{"default/a: unschedulable -> active (UnschedulableTimeout)"}, lines(r.q.Advance(r.now)), "straight to active: the longest backoff is 10 s")
	})
	t.Run("4 one place at a time", func(t *testing.T) {
		r := counterRig(t)
		r.add("a")
		for range 3 {
			r.pop()
			r.event(nodeAdd)
			r.giveBack("a", "Fit")
			require.Equal(t, 1, r.q.Counts().queued())
			r.now = r.now.Add(time.Minute)
			r.q.Advance(r.now)
			require.Equal(t, Counts{Active: 1}, r.q.Counts())
		}
	})
	t.Run("5 the event came during the attempt", func(t *testing.T) {
		r := counterRig(t)
		r.add("a")
		r.pop()
		r.event(nodeAdd)
		r.giveBack("a", "NodeAffinity")
		r.is(Backoff, "a")
	})
	t.Run("6 the same pod twice", func(t *testing.T) {
		r := counterRig(t)
		r.add("a")
		r.pop()
		r.update("a", func(p *v1.Pod) { p.Labels = map[string]string{"a": "b"} })
		require.Equal(t, "a", r.pop(), "issue #118226: the update in flight queues it again")

		r = newRig(t, Options{})
		r.add("a")
		r.pop()
		r.update("a", func(p *v1.Pod) { p.Labels = map[string]string{"a": "b"} })
		require.Empty(t, r.pop(), "1.36 knows what is in flight")
	})
	t.Run("7 short of CPU and an affinity update", func(t *testing.T) {
		r := counterRig(t)
		r.add("podA")
		r.pop()
		r.giveBack("podA", "Fit")
		podB := testkit.Pod("podB").On("n").Obj()
		changed := podB.DeepCopy()
		changed.Labels = map[string]string{"a": "b"}
		r.q.Move(Change{Event: event128("AssignedPodUpdate"), Old: podB, New: changed}, r.now)
		r.is(Unschedulable, "podA")
		r.q.Move(Change{Event: event128("AssignedPodDelete"), Old: podB}, r.now)
		r.is(Backoff, "podA")

		for _, name := range []string{"AssignedPodDelete", "NodeAdd", "NodeAllocatableChange"} { // what the plugin waits for
			r := counterRig(t)
			r.add("podA")
			r.pop()
			r.giveBack("podA", "Fit")
			r.event(event128(name))
			r.is(Backoff, "podA")
		}

		r = newRig(t, Options{Profiles: defaultProfiles(release.Current)})
		r.try("NodeResourcesFit", "podA")
		for _, e := range PodUpdateEvents(podB, changed, release.Current) {
			r.q.Move(Change{Event: e, Old: podB, New: changed}, r.now)
		}
		r.is(Unschedulable, "podA")
		r.event(Event{"AssignedPod", UpdatePodScaleDown, ""})
		r.is(Backoff, "podA")
	})
	t.Run("8 no duplicates", func(t *testing.T) {
		r := counterRig(t)
		r.add("a", "a", "a")
		require.Equal(t, 1, r.q.Counts().queued())
		for _, rests := range []bool{false, true} { // nor beside a pod that waits or rests
			r.pop()
			if rests {
				r.event(nodeAdd)
			}
			r.giveBack("a", "Fit")
			require.Equal(t, 1, r.q.Counts().queued())
			r.add("a")
			require.Equal(t, Counts{Active: 1}, r.q.Counts())
		}
	})
}

// What the article asks and answers while it designs the queue.
func TestDesignQuestions(t *testing.T) {
	t.Run("first attempts are made at once", func(t *testing.T) {
		r := counterRig(t)
		require.Equal(t, []string{"default/a: nowhere -> active (UnschedulablePodAdd)"}, lines(r.add("a")))
		require.Equal(t, "a", r.pop())
	})
	t.Run("a failed pod rests and waits for a change", func(t *testing.T) {
		r := counterRig(t)
		r.add("a")
		r.pop()
		r.giveBack("a", "NodeAffinity")
		r.event(Event{"PersistentVolume", Add, ""})
		r.is(Unschedulable, "a")
		r.event(nodeAdd)
		r.is(Backoff, "a")
	})
	t.Run("what if nobody gives an order", func(t *testing.T) {
		r := counterRig(t)
		r.pods["hi"] = testkit.Pod("hi").Priority(1).Obj()
		r.add("first", "second", "hi")
		require.Equal(t, []string{"hi", "first", "second"}, []string{r.pop(), r.pop(), r.pop()})
	})
	t.Run("memory is short and a node comes", func(t *testing.T) {
		r := counterRig(t)
		r.pods["podA"] = testkit.Pod("podA").Request("memory=10Gi").Obj()
		r.add("podA")
		r.pop()
		r.giveBack("podA", "Fit")
		r.at(time.Minute)
		require.Equal(t, []string{"default/podA: unschedulable -> active (NodeAdd, Fit)"}, lines(r.event(event128("NodeAdd"))))
	})
	t.Run("how are events and pods linked", func(t *testing.T) { // by the plugins that registered the one and rejected the other
		for event, woken := range map[string][]string{
			"NodeAdd": {"fit", "affinity", "custom"}, "NodeLabelChange": {"fit", "affinity", "custom"}, "AssignedPodDelete": {"fit", "custom"},
			"NodeTaintChange": {"fit", "custom"}, "CSINodeAdd": {"custom"}, "CSIDriverAdd": nil, "UnschedulableTimeout": {"fit", "affinity", "custom", "nobody"},
		} {
			r := counterRig(t)
			for pod, plugin := range map[string]string{"fit": "Fit", "affinity": "NodeAffinity", "custom": "Custom", "nobody": "Nobody"} {
				r.add(pod)
				require.Equal(t, pod, r.pop())
				r.giveBack(pod, plugin)
			}
			r.at(time.Minute)
			var got []string
			for _, m := range r.event(event128(event)) {
				got = append(got, m.Pod.Name)
			}
			require.ElementsMatch(t, woken, got, event)
		}
	})
}

func TestArticleBits(t *testing.T) {
	require.Equal(t, []Action{1, 2, 4, 8, 16, 32}, []Action{Add, Delete, UpdateNodeAllocatable, UpdateNodeLabel, UpdateNodeTaint, UpdateNodeCondition})
	require.EqualValues(t, 0b111100, update128)
	require.EqualValues(t, 0b111111, all128)
	overlap := func(a, b Action) bool { return Event{"Node", a, ""}.sharesBit(Event{"Node", b, ""}) }
	require.True(t, overlap(Add, Add), "the same action")
	require.True(t, overlap(all128, Delete), "all and another")
	require.True(t, overlap(update128, UpdateNodeAllocatable), "update and a kind of it")
	require.True(t, overlap(UpdateNodeLabel, update128), "and the other way round, unlike 1.36")
	require.False(t, overlap(Add, Delete), "nothing in common")
	require.True(t, Event{"*", all128, ""}.sharesBit(nodeAdd))
	require.False(t, Event{"storage.k8s.io/CSINode", all128, ""}.sharesBit(nodeAdd))
}

// The lost wake-up of the counters: the cycle at the return is not the cycle of the pod.
func TestCounterLosesAWakeUp(t *testing.T) {
	for own, want := range map[bool]Place{false: Unschedulable, true: Backoff} {
		r := counterRig(t)
		r.add("a", "b")
		r.pop()
		cycle := r.q.cycle
		r.event(nodeAdd)
		r.pop()
		if !own {
			cycle = r.q.cycle
		}
		_, err := r.q.Return(r.held["a"], Failure{Rejecters: []string{"Fit"}, Cycle: cycle}, r.now)
		require.NoError(t, err)
		r.is(want, "a")
	}
}

func TestCycleCounter(t *testing.T) {
	t.Run("a general update wakes a label registration", func(t *testing.T) {
		r := counterRig(t)
		r.add("a")
		r.pop()
		r.giveBack("a", "NodeAffinity")
		r.event(Event{"Node", update128, ""})
		r.is(Backoff, "a")
	})
	t.Run("errors sleep too", func(t *testing.T) {
		r := counterRig(t)
		r.add("a")
		r.pop()
		r.giveBack("a")
		r.is(Unschedulable, "a")
		r.event(nodeAdd)
		r.is(Backoff, "a")
	})
	t.Run("expiry is not aligned", func(t *testing.T) {
		r := counterRig(t)
		r.at(300 * time.Millisecond)
		r.add("a")
		r.pop()
		r.event(nodeAdd)
		r.giveBack("a", "Fit")
		require.Empty(t, r.pop(), "nor is it popped early")
		next, _ := r.q.Next(r.now)
		require.Equal(t, noon.Add(1300*time.Millisecond), next)
		r.now = next
		require.Len(t, r.q.Advance(r.now), 1)
	})
	t.Run("gates at the end of a backoff and in the flush", func(t *testing.T) {
		r := counterRig(t)
		r.add("a")
		r.pop()
		r.event(nodeAdd)
		r.giveBack("a", "Fit")
		r.update("a", func(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "g"}} })
		r.at(time.Minute)
		r.q.Advance(r.now)
		r.is(Gated, "a")
		e, _ := r.q.Lookup(r.pod("a"))
		e.Pod.Spec.SchedulingGates = nil
		r.at(10 * time.Minute)
		r.q.Advance(r.now)
		r.is(Active, "a")
	})
	t.Run("an update that matters moves a waiting pod", func(t *testing.T) {
		r := counterRig(t)
		r.add("a")
		r.pop()
		r.giveBack("a", "Fit")
		r.update("a", func(p *v1.Pod) { p.Status.Message, p.ResourceVersion = "x", "2" })
		r.is(Unschedulable, "a")
		r.update("a", func(p *v1.Pod) { p.Annotations = map[string]string{"a": "b"} })
		r.is(Backoff, "a")
	})
	t.Run("activate ignores pods in flight", func(t *testing.T) {
		r := counterRig(t)
		r.add("a")
		r.pop()
		r.q.Activate(r.now, r.pod("a"))
		r.giveBack("a", "Fit")
		r.is(Unschedulable, "a")
	})
	t.Run("assigned pods wake pods whose affinity they match", func(t *testing.T) {
		r := counterRig(t)
		r.pods["friend"] = testkit.Pod("friend").RequireWith(v1.LabelTopologyZone, "app=db").Obj()
		other := testkit.Pod("other").RequireWith(v1.LabelTopologyZone, "app=db").Obj()
		other.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].Namespaces = []string{"elsewhere"}
		r.pods["other"] = other
		add := event128("AssignedPodAdd")
		r.add("friend", "other", "plain")
		for range 3 {
			r.giveBack(r.pop(), "Custom")
		}
		r.q.Move(Change{Event: add, New: testkit.Pod("web").Labels("app=web").On("n").Obj()}, r.now)
		r.is(Unschedulable, "friend", "other", "plain")
		r.q.Move(Change{Event: add, New: testkit.Pod("db").Labels("app=db").On("n").Obj()}, r.now)
		r.is(Backoff, "friend")
		r.is(Unschedulable, "other", "plain")
		r.q.Move(Change{Event: add, New: testkit.Pod("elsewhere/db").Labels("app=db").On("n").Obj()}, r.now)
		r.is(Backoff, "other")
		big := testkit.Pod("big").Request("cpu=2").On("n").Obj()
		small := testkit.Pod("big").Request("cpu=1").On("n").Obj()
		r.q.Move(Change{Event: event128("AssignedPodUpdate"), Old: big, New: small}, r.now)
		r.is(Backoff, "plain")
	})
}

const (
	update128 = UpdateNodeAllocatable | UpdateNodeLabel | UpdateNodeTaint | UpdateNodeCondition
	all128    = Add | Delete | update128
)

// event128 returns an event of 1.28 by its name. Package history has the whole table.
func event128(name string) Event {
	return map[string]Event{
		"AssignedPodAdd": {"AssignedPod", Add, name}, "AssignedPodUpdate": {"AssignedPod", update128, name},
		"AssignedPodDelete": {"AssignedPod", Delete, name}, "NodeAdd": {"Node", Add, name},
		"NodeAllocatableChange": {"Node", UpdateNodeAllocatable, name}, "NodeLabelChange": {"Node", UpdateNodeLabel, name},
		"NodeTaintChange": {"Node", UpdateNodeTaint, name}, "CSINodeAdd": {"storage.k8s.io/CSINode", Add, name},
		"CSIDriverAdd": {"storage.k8s.io/CSIDriver", Add, name}, "UnschedulableTimeout": {"*", All, name},
	}[name]
}

// custom128 returns the registrations of a plugin Custom that does not say what it waits for, as in 1.28.
func custom128() (list []Registration) {
	for _, r := range []string{"Pod", "Node", "storage.k8s.io/CSINode", "PersistentVolume", "PersistentVolumeClaim", "storage.k8s.io/StorageClass"} {
		list = append(list, Registration{Plugin: "Custom", Event: Event{Resource: r, Action: all128}})
	}
	return list
}
