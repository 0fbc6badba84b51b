package scheduler

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/queue"
)

// A nominated pod holds room for as long as it is nominated. Pods of at most its priority hear of the end.
func TestEndOfNomination(t *testing.T) {
	zero, one := int32(0), int32(1)
	keeps := func(r *rig, p *v1.Pod) {
		next := p.DeepCopy()
		next.Labels = map[string]string{"a": "b"}
		r.s.UpdatePod(p, next)
	}
	loses := func(r *rig, p *v1.Pod) {
		next := p.DeepCopy()
		next.Status.NominatedNodeName = ""
		r.s.UpdatePod(p, next)
	}
	leaves := func(r *rig, p *v1.Pod) { r.s.DeletePod(p) }
	type test struct {
		name, why       string
		theirs, waiting *int32
		change          func(r *rig, p *v1.Pod)
		want            queue.Place
	}
	testkit.Run(t, []test{
		{"it keeps the nomination", "the room is still held", nil, nil, keeps, queue.Unschedulable},
		{"it loses the nomination", "equal priority", nil, nil, loses, queue.Backoff},
		{"it leaves", "equal priority", nil, nil, leaves, queue.Backoff},
		{"no priority is 0", "the waiting pod says 0", nil, &zero, loses, queue.Backoff},
		{"0 is no priority", "the nominated pod says 0", &zero, nil, loses, queue.Backoff},
		{"higher priority waits on", "the room was never held from it", nil, &one, loses, queue.Unschedulable},
		{"lower priority", "the room was held from it", &one, nil, loses, queue.Backoff},
	}, func(t *testing.T, c test) {
		r := newRig(t, Options{}, []*v1.Node{node("n1")}, testkit.Pod("default/running").On("n1").Priority(100).Request("cpu=4").Obj())
		nominated, waiting := pod("nominated"), pod("waiting")
		nominated.Spec.Priority, waiting.Spec.Priority = c.theirs, c.waiting
		nominated.Status.NominatedNodeName = "n1"
		r.add(waiting).step()
		require.Equal(t, queue.Unschedulable, r.place(waiting))
		r.add(nominated)
		c.change(r, nominated)
		require.Equal(t, c.want, r.place(waiting))
	})
}

// A pod without a nomination holds no room, so nobody hears that it leaves.
func TestPendingPodLeaves(t *testing.T) {
	r := newRig(t, Options{}, []*v1.Node{node("n1")}, testkit.Pod("default/running").On("n1").Priority(100).Request("cpu=4").Obj())
	waiting, other := pod("waiting"), pod("other")
	r.add(waiting).step()
	r.add(other).step()
	r.s.DeletePod(other)
	require.Equal(t, queue.Unschedulable, r.place(waiting))
}

// A pod that was made again under its name is another pod: the room of the first is free.
func TestPodIsMadeAgain(t *testing.T) {
	running := testkit.Pod("default/p").On("n1").Request("cpu=4").Obj()
	r := newRig(t, Options{}, []*v1.Node{node("n1")}, running)
	again := sized("p", "4")
	again.UID = "another"
	r.pods["default/p"] = again
	r.s.UpdatePod(running, again)
	require.Empty(t, r.on("n1"))
	require.True(t, r.step())
	require.Equal(t, Scheduled, r.last().Outcome)
}

// Objects that cannot be followed are reported with the name of the event.
func TestBadObjects(t *testing.T) {
	type test struct {
		name string
		do   func(r *rig, p *v1.Pod)
		want string
	}
	testkit.Run(t, []test{
		{"an update under another name", func(r *rig, p *v1.Pod) {
			other := p.DeepCopy()
			other.Name = "q"
			r.s.UpdatePod(p, other)
		}, "PodUpdate: queue: pod "},
		{"a pod without UID", func(r *rig, p *v1.Pod) { r.s.AddPod(&v1.Pod{Spec: v1.PodSpec{NodeName: "n1"}}) }, "PodAdd: " + errNoUID.Error()},
		{"a claim without name", func(r *rig, p *v1.Pod) { r.s.Set(nil, &resourcev1.ResourceClaim{}) }, "Set: "},
		{"an unknown claim", func(r *rig, p *v1.Pod) { r.s.Remove(&resourcev1.ResourceClaim{}) }, "Remove: "},
	}, func(t *testing.T, c test) {
		r := newRig(t, Options{}, three())
		p := pod("p")
		r.add(p)
		c.do(r, p)
		require.Len(t, r.errs, 1)
		require.ErrorContains(t, r.errs[0], c.want)
	})
}
