package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/release"
)

// PopPod of a pod that a gate refuses returns no entry, and tells that the pod has moved.
func TestPopPodOfAGatedPod(t *testing.T) {
	r := newRig(t, Options{})
	r.add("a")
	r.pop()
	r.fail("a", "P")
	r.is(Unschedulable, "a")
	r.shut["x a"] = true
	e, moves := r.q.PopPod(r.pod("a"), r.now)
	require.Nil(t, e)
	require.Len(t, moves, 1)
	require.Equal(t, Gated, moves[0].To)
	delete(r.shut, "x a")
	e, moves = r.q.PopPod(r.pod("a"), r.now)
	require.Same(t, r.pod("a"), e.Pod)
	require.Len(t, moves, 2, "active, then in flight")
	e, moves = r.q.PopPod(r.pod("a"), r.now)
	require.Nil(t, e, "it is in flight")
	require.Empty(t, moves)
}

// A closed queue holds no pod in flight.
func TestClosedFlights(t *testing.T) {
	r := newRig(t, Options{})
	r.add("a")
	e, _ := r.q.Pop(r.now)
	require.Equal(t, InFlight, e.Place())
	r.event(nodeAdd)
	require.NotEmpty(t, r.q.events)
	moves := r.q.Close()
	require.Empty(t, r.q.events, "nobody asks for the events any more")
	require.Len(t, moves, 1)
	require.Equal(t, [2]Place{InFlight, Nowhere}, [2]Place{moves[0].From, moves[0].To})
	require.Equal(t, Nowhere, e.Place())
	require.Empty(t, r.q.Done(r.pod("a")))
	r.add("b")
	e, _ = r.q.Pop(r.now)
	require.Len(t, r.q.Done(r.pod("b")), 1)
	require.Equal(t, Nowhere, e.Place())
}

// The end of a rest that is over is now, and All lists pods as Pop takes them.
func TestStatusOfLateQuestions(t *testing.T) {
	r := newRig(t, Options{})
	names := []string{"e", "c", "a", "d", "b"}
	for k, name := range names {
		priority := int32(5 - k)
		r.pod(name).Spec.Priority = &priority
	}
	r.add("a", "b", "c", "d", "e")
	var got []string
	for _, s := range r.q.All(r.now) {
		got = append(got, s.Pod.Name)
	}
	require.Equal(t, names, got)
	for range names {
		r.pop()
	}
	for k, name := range []string{"b", "d", "a", "e", "c"} {
		r.at(time.Duration(k) * time.Millisecond)
		r.fail(name, "S")
	}
	got = nil
	for _, s := range r.q.All(r.now) {
		require.Equal(t, Unschedulable, s.Place)
		got = append(got, s.Pod.Name)
	}
	require.Len(t, got, 5)
	late := r.now.Add(time.Hour)
	require.Equal(t, late, r.q.Explain(r.pod("a"), late).Until, "the leftover flush is overdue")
	require.Less(t, r.q.Explain(r.pod("a"), r.now).Until, late)
}

// The plugins of an answer belong to the caller, who may write into them: those of a pod, and of a member of a group.
func TestStatusSharesNothing(t *testing.T) {
	r := newRig(t, Options{})
	r.add("a")
	r.pop()
	r.fail("a", "S")
	c := newClique(t, podgroup.Gates{})
	c.group("g", "", 1, 0)
	c.come("g", "a")
	e, _ := c.pop()
	c.returns(e, RootUnschedulable, "a")
	for rejecter, x := range map[string]*rig{"S": r, "P": c.rig} {
		clear(x.q.Explain(x.pods["a"], x.now).Rejecters)
		clear(x.q.All(x.now)[0].Rejecters)
		require.Equal(t, []string{rejecter}, x.q.Explain(x.pods["a"], x.now).Rejecters)
	}
}

// Nothing is counted for profiles and plugins that the queue does not know.
func TestRejectedOfUnknown(t *testing.T) {
	r := newRig(t, Options{})
	r.add("a")
	r.pop()
	r.fail("a", "P")
	require.Equal(t, 1, r.q.Rejected("default-scheduler", "P"))
	require.Zero(t, r.q.Rejected("default-scheduler", "Nobody"))
	require.Zero(t, r.q.Rejected("nobody", "P"))
	require.Zero(t, r.q.Rejected("default-scheduler", "Q"))
}

// The texts of explanations name both numbers, and errors both pods.
func TestNumbersInTexts(t *testing.T) {
	r := newRig(t, Options{})
	r.skips["P"], r.skips["Q"] = true, true
	r.add("a")
	r.pop()
	r.event(nodeAdd)
	require.Contains(t, Explanation{Status: Status{Pod: r.pod("a"), Place: InFlight}, Found: true, Logged: 7, Concern: make([]Event, 2)}.String(), "7 events during the attempt, 2 of them concern it")
	_, err := r.q.Update(r.pod("a"), r.pod("b"), r.now)
	require.ErrorIs(t, err, ErrOtherPod)
	_, other := r.q.Update(r.pod("b"), r.pod("a"), r.now)
	require.NotEqual(t, err.Error(), other.Error())
	require.Less(t, indexOf(err.Error(), "default/a"), indexOf(err.Error(), "default/b"), err)
}

func indexOf(text, part string) int {
	for k := range text {
		if len(text)-k >= len(part) && text[k:k+len(part)] == part {
			return k
		}
	}
	return len(text)
}

// An update between two UIDs, as v1.37 takes it: the old pod leaves, from the nominations too, and the new pod comes.
func TestRecreatedPods(t *testing.T) {
	r := newRig(t, Options{SplitRecreated: true})
	r.add("a")
	r.pop()
	r.fail("a", "P")
	old := r.pod("a")
	fresh := old.DeepCopy()
	fresh.UID = "another"
	moves, err := r.q.Update(old, fresh, r.now)
	require.NoError(t, err)
	require.Len(t, moves, 2)
	require.Equal(t, [2]Place{Unschedulable, Nowhere}, [2]Place{moves[0].From, moves[0].To})
	require.Equal(t, [2]Place{Nowhere, Active}, [2]Place{moves[1].From, moves[1].To})
	e, ok := r.q.Lookup(fresh)
	require.True(t, ok)
	require.Zero(t, e.Attempts, "a new pod")
}

// A container that becomes a sidecar counts in another way, though its requests are the same.
func TestScaledDownByRestartPolicy(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	p := testkit.Pod("a").Request("cpu=1").Obj()
	p.Spec.InitContainers = []v1.Container{{Name: "i", RestartPolicy: &always, Resources: v1.ResourceRequirements{Requests: testkit.Resources("cpu=1")}}}
	q := p.DeepCopy()
	q.Spec.InitContainers[0].RestartPolicy = nil
	require.Equal(t, []Event{{Resource: unschedulablePod, Action: UpdatePodScaleDown}}, PodUpdateEvents(p, q, release.V1_36))
	require.Equal(t, []Event{unschedulablePodUpdate}, PodUpdateEvents(q, p, release.V1_36))
}

// Up to v1.28 a term of a waiting pod selects namespaces by their labels. Where the caller does not know the labels, the term selects by the
// label with the name.
func TestTermsSelectNamespaces(t *testing.T) {
	selects := func(o Options, labels map[string]string, namespaces ...string) bool {
		o.Legacy.CycleCounter = true
		q, err := New(o)
		require.NoError(t, err)
		term := v1.PodAffinityTerm{LabelSelector: &metav1.LabelSelector{}, Namespaces: namespaces}
		if labels != nil {
			term.NamespaceSelector = &metav1.LabelSelector{MatchLabels: labels}
		}
		return q.termMatches(&term, testkit.Pod("waiting/w").Obj(), testkit.Pod("other/a").Obj())
	}
	q, err := New(Options{Legacy: Legacy{CycleCounter: true}})
	require.NoError(t, err)
	invalid := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}
	for _, term := range []v1.PodAffinityTerm{{LabelSelector: invalid}, {LabelSelector: &metav1.LabelSelector{}, NamespaceSelector: invalid}} {
		require.False(t, q.termMatches(&term, testkit.Pod("a").Obj(), testkit.Pod("b").Obj()))
	}
	known := Options{Legacy: Legacy{NamespaceLabels: func(name string) map[string]string { return map[string]string{"of": name} }}}
	require.False(t, selects(Options{}, nil), "the pod's own namespace")
	require.True(t, selects(Options{}, nil, "x", "other"))
	require.False(t, selects(Options{}, nil, "x"))
	require.True(t, selects(Options{}, map[string]string{v1.LabelMetadataName: "other"}))
	require.False(t, selects(Options{}, map[string]string{v1.LabelMetadataName: "x"}))
	require.True(t, selects(Options{}, map[string]string{v1.LabelMetadataName: "x"}, "other"))
	require.True(t, selects(Options{}, map[string]string{}), "every namespace")
	require.True(t, selects(known, map[string]string{"of": "other"}))
	require.False(t, selects(known, map[string]string{"of": "x"}))
	require.False(t, selects(known, map[string]string{v1.LabelMetadataName: "other"}))
}

// Backoffs at the ends of durations.
func TestBackoffAtTheEnds(t *testing.T) {
	const second = time.Second
	for _, c := range []struct {
		initial, max time.Duration
		count        int
		want         time.Duration
	}{{second, 10 * second, 0, 0}, {second, 10 * second, 1, second}, {second, 8 * second, 4, 8 * second}, {second, 8 * second, 5, 8 * second}, {second, 7 * second, 4, 7 * second},
		{second, 0, 3, 0}, {0, second, 3, 0}, {second, 10 * second, 100, 10 * second}, {1, 1 << 62, 63, 1 << 62}, {1, 1, 1, 1}} {
		require.Equal(t, c.want, backoffDuration(c.initial, c.max, c.count), "%+v", c)
	}
}
