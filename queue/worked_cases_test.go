package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// simpleFit is NodeResourcesFit as far as the example of podA and podB needs it: the deletion of an assigned pod helps;
// a node helps if the empty node has the CPUs, and on an update only if they grew.
func simpleFit(pod *v1.Pod, old, new any) (bool, error) {
	n, isNode := new.(*v1.Node)
	if !isNode {
		gone, _ := old.(*v1.Pod)
		return gone != nil && gone.Spec.NodeName != "", nil
	}
	need := pod.Spec.Containers[0].Resources.Requests.Cpu()
	if need.Cmp(*n.Status.Allocatable.Cpu()) > 0 {
		return false, nil
	}
	before, _ := old.(*v1.Node)
	return before == nil || before.Status.Allocatable.Cpu().Cmp(*n.Status.Allocatable.Cpu()) < 0, nil
}

// simpleAffinity is NodeAffinity for a nodeSelector: the node matches, and did not before.
func simpleAffinity(pod *v1.Pod, old, new any) (bool, error) {
	matches := func(n *v1.Node) bool {
		for k, v := range pod.Spec.NodeSelector {
			if n.Labels[k] != v {
				return false
			}
		}
		return true
	}
	before, _ := old.(*v1.Node)
	return matches(new.(*v1.Node)) && (before == nil || !matches(before)), nil
}

// podA wants region cd, podB wants 10 CPUs: the example of the article on the scheduling queue.
func TestPodAAndPodB(t *testing.T) {
	r := newRig(t, Options{ExactRegistrations: true, Profiles: map[string]Profile{defaultScheduler: {
		Events: DefaultEvents(map[string]Hint{"NodeResourcesFit": simpleFit, "NodeAffinity": simpleAffinity}, release.Current)}}})
	running := testkit.Pod("running").Request("cpu=4").On("n1").Obj()
	n2 := testkit.Node("n2").Label("region", "bj").Capacity("cpu=8").Obj()
	n3 := testkit.Node("n3").Label("region", "cd").Capacity("cpu=500m").Obj()
	r.pods["podA"] = testkit.Pod("podA").Request("cpu=1").NodeSelector("region=cd").Obj()
	r.pods["podB"] = testkit.Pod("podB").Request("cpu=10").Obj()
	r.add("podA", "podB")
	r.pop()
	r.pop()
	r.fail("podA", "NodeAffinity")
	r.fail("podB", "NodeResourcesFit")
	r.is(Unschedulable, "podA", "podB")

	relabelled := running.DeepCopy()
	relabelled.Labels = map[string]string{"a": "b"}
	for _, e := range PodUpdateEvents(running, relabelled, release.Current) {
		require.Empty(t, r.q.Move(Change{Event: e, Old: running, New: relabelled}, r.now), "a label change of the running pod helps no pod")
	}
	require.Empty(t, r.q.Move(Change{Event: nodeAdd, New: n2}, r.now), "n2 is too small for podB and not in cd")
	require.Equal(t, []string{"default/podA: unschedulable -> backoff (NodeAdd, NodeAffinity)"}, lines(r.q.Move(Change{Event: nodeAdd, New: n3}, r.now)))
	require.Equal(t, "podA", r.pop())
	r.fail("podA", "NodeAffinity", "NodeResourcesFit")
	require.Len(t, r.q.Move(Change{Event: assignedPodDelete, Old: running}, r.now), 2, "NodeResourcesFit wants both when any pod leaves")
	r.is(Backoff, "podA", "podB")

	r.pop()
	r.pop()
	r.fail("podA", "NodeAffinity", "NodeResourcesFit")
	r.fail("podB", "NodeResourcesFit")
	bigger := n2.DeepCopy()
	bigger.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("16")
	for _, e := range NodeUpdateEvents(n2, bigger) {
		require.Len(t, r.q.Move(Change{Event: e, Old: n2, New: bigger}, r.now), 2, "podA too: the hint ignores affinity")
	}
	r.is(Backoff, "podA", "podB")
	annotated := n3.DeepCopy()
	annotated.Annotations = map[string]string{"a": "b"}
	for _, e := range NodeUpdateEvents(n3, annotated) {
		require.Empty(t, r.q.Move(Change{Event: e, Old: n3, New: annotated}, r.now), "an annotation helps nobody")
	}
}

// The worked examples of docs/fidelity/queue.md by their numbers.
func TestExamples(t *testing.T) {
	t.Run("Q-2 event during the attempt", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a")
		r.event(nodeAdd)
		r.pop()
		r.fail("a", "P")
		r.is(Unschedulable, "a")
		r.add("b")
		r.pop()
		r.event(nodeAdd)
		r.pop() // a: the event moved it to backoff, which is popped early
		r.fail("b", "P")
		r.is(Backoff, "b")
	})
	t.Run("Q-3 one event between two pops", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a", "b")
		r.pop()
		r.event(nodeAdd)
		r.pop()
		r.fail("a", "P")
		r.fail("b", "P")
		r.is(Unschedulable, "b")
		r.is(Backoff, "a")
	})
	t.Run("Q-4 expiry of errors", func(t *testing.T) {
		r := newRig(t, Options{})
		r.at(300 * time.Millisecond)
		r.add("a")
		r.pop()
		r.fail("a")
		e, _ := r.q.Lookup(r.pod("a"))
		require.Equal(t, noon.Add(time.Second), e.BackoffExpiration)
		r.at(1999 * time.Millisecond)
		require.Empty(t, r.q.Advance(r.now))
		r.at(2 * time.Second)
		require.Equal(t, []string{"default/a: error backoff -> active (BackoffComplete)"}, lines(r.q.Advance(r.now)))
		r.pop()
		r.fail("a")
		require.Equal(t, 2, e.ConsecutiveErrorsCount)
		require.Equal(t, noon.Add(4*time.Second), e.BackoffExpiration)
		next, ok := r.q.Next(r.now)
		require.True(t, ok)
		require.Equal(t, noon.Add(5*time.Second), next)
	})
	t.Run("Q-5 early pops by priority", func(t *testing.T) {
		r := newRig(t, Options{})
		r.pods["hi"] = testkit.Pod("hi").Priority(10).Obj()
		r.try("P", "lo", "hi")
		r.add("err")
		r.pop()
		r.fail("err")
		r.event(nodeAdd)
		r.is(Backoff, "lo", "hi")
		r.is(ErrorBackoff, "err")
		require.Equal(t, []string{"hi", "lo", ""}, []string{r.pop(), r.pop(), r.pop()})
	})
	t.Run("Q-6 two gates", func(t *testing.T) {
		r := newRig(t, Options{Profiles: defaultProfiles(release.Current)})
		r.pod("a").Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "x"}, {Name: "y"}}
		r.add("a")
		require.Equal(t, Counts{Gated: 1}, r.q.Counts())
		r.event(nodeAdd)
		r.at(time.Hour)
		require.Empty(t, r.q.Advance(r.now))
		require.Empty(t, r.q.Activate(r.now, r.pod("a")))
		require.Empty(t, r.update("a", func(p *v1.Pod) { p.Spec.SchedulingGates = p.Spec.SchedulingGates[1:] }))
		require.Equal(t, "waiting for scheduling gates: [x y]", r.q.Explain(r.pod("a"), r.now).GateMessage, "nobody asked the gate")
		r.q.Activate(r.now, r.pod("a"))
		require.Equal(t, "waiting for scheduling gates: [y]", r.q.Explain(r.pod("a"), r.now).GateMessage)
		require.Equal(t, []string{"default/a: gated -> active (TargetPodUpdatePodSchedulingGatesEliminated, SchedulingGates)"},
			lines(r.update("a", func(p *v1.Pod) { p.Spec.SchedulingGates = nil })))
		require.Equal(t, Counts{Active: 1}, r.q.Counts())
	})
	t.Run("Q-7 one gate after the other", func(t *testing.T) {
		r := newRig(t, Options{})
		r.shut["x a"] = true
		r.add("a")
		r.shut["x a"], r.shut["y a"] = false, true
		require.Equal(t, []string{"default/a: gated -> gated (NodeUpdateNodeAnnotation, y)"}, lines(r.event(Event{"Node", UpdateNodeAnnotation, ""})))
		e, _ := r.q.Lookup(r.pod("a"))
		require.Equal(t, []string{"x", "y"}, e.Rejecters)
		asked := r.gates["y a"]
		require.Empty(t, r.event(Event{"Node", UpdateNodeAnnotation, ""}))
		require.Equal(t, asked, r.gates["y a"], "the event of the earlier gate asks no gate")
		r.shut["y a"] = false
		r.event(Event{"Node", UpdateNodeLabel, ""})
		r.is(Active, "a")
	})
	t.Run("Q-8 activate everywhere", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("P", "u")
		r.add("b")
		r.pop()
		r.fail("b")
		r.add("f")
		r.pop()
		r.add("act")
		moves := r.q.Activate(r.now, r.pod("u"), r.pod("b"), r.pod("f"), r.pod("act"), r.pod("unknown"), nil)
		require.Len(t, moves, 2)
		r.is(Active, "act", "b", "u")
		r.fail("f", "P")
		r.is(Backoff, "f")
	})
	t.Run("Q-9 rest counts from the failure", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("P", "early")
		r.at(3 * time.Second)
		r.try("P", "late")
		r.at(3500 * time.Millisecond)
		r.event(nodeAdd)
		r.is(Active, "early")
		r.is(Backoff, "late")
	})
	t.Run("Q-10 the same pod twice", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a", "a")
		require.Equal(t, 1, r.q.Counts().Active)
		require.Equal(t, "a", r.pop())
		r.add("a")
		e, moves := r.q.Pop(r.now)
		require.Nil(t, e)
		require.Equal(t, []string{"default/a: active -> nowhere (Duplicate)"}, lines(moves))
		require.EqualValues(t, 1, r.q.cycle, "a dropped duplicate is no cycle")
	})
	t.Run("Q-11 re-created in flight", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a")
		r.pop()
		old := r.held["a"]
		r.q.Delete(r.pod("a"))
		again := r.pod("a").DeepCopy()
		again.UID = "another"
		r.pods["a"] = again
		r.add("a")
		_, err := r.q.Return(old, Failure{Rejecters: []string{"P"}}, r.now)
		require.EqualError(t, err, "Pod default/a is already present in the active queue")
		e, _ := r.q.Lookup(again)
		require.Equal(t, []any{again, 0, 0}, []any{e.Pod, e.Attempts, e.UnschedulableCount})
		require.Zero(t, r.q.Counts().InFlight, "the attempt has ended all the same")
	})
	t.Run("Q-12 add over error backoff", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a")
		r.pop()
		r.fail("a")
		require.Equal(t, []string{"default/a: error backoff -> nowhere (Replaced)", "default/a: nowhere -> active (UnscheduledPodAdd)"}, lines(r.add("a")))
		e, _ := r.q.Lookup(r.pod("a"))
		require.Equal(t, []int{0, 0}, []int{e.Attempts, e.ConsecutiveErrorsCount})
	})
	t.Run("Q-13 close", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a", "b")
		r.pop()
		require.Equal(t, []string{"default/a: in flight -> nowhere (QueueClosed)"}, lines(r.q.Close()))
		require.True(t, r.q.closed)
		require.Equal(t, []string{"b", ""}, []string{r.pop(), r.pop()})
		r.add("c")
		require.Equal(t, "c", r.pop())
		require.NotPanics(t, func() { r.q.Close() })
	})
	t.Run("Q-14 pre-check", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("P", "x", "y")
		r.add("z")
		r.pop()
		r.q.Move(Change{Event: nodeAdd, PreCheck: func(p *v1.Pod) bool { return p.Name == "x" }}, r.now)
		r.is(Backoff, "x")
		r.is(Unschedulable, "y")
		r.fail("z", "P")
		r.is(Backoff, "z")
	})
	t.Run("Q-15 gate in front of backoff", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("P", "a")
		r.shut["x a"] = true
		require.Equal(t, []string{"default/a: unschedulable -> gated (NodeAdd, x)"}, lines(r.event(nodeAdd)))
		require.Equal(t, Counts{Gated: 1}, r.q.Counts())
		asked := r.gates["x a"]
		require.Empty(t, r.event(nodeAdd), "x registered no such event")
		require.Equal(t, asked, r.gates["x a"])
		r.shut["x a"] = false
		r.q.Activate(r.now, r.pod("a"))
		r.is(Active, "a")
	})
	t.Run("Q-16 counter mode", func(t *testing.T) {
		r := newRig(t, Options{Legacy: Legacy{CycleCounter: true}})
		r.add("a")
		r.pop()
		_, err := r.q.Return(r.held["a"], Failure{Rejecters: []string{"P"}}, r.now)
		require.NoError(t, err)
		r.is(Unschedulable, "a")
		r.at(time.Minute)
		r.event(nodeAdd)
		r.pop()
		r.event(nodeAdd)
		_, err = r.q.Return(r.held["a"], Failure{Rejecters: []string{"P"}}, r.now)
		require.NoError(t, err)
		r.is(Backoff, "a")
	})
}
