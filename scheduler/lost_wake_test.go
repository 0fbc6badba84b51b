package scheduler

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/queue"
)

// A pod finishes after it was popped and before it is assumed: it leaves the informers, and is bound nevertheless. Its room is free
// after the binding, although no event confirms the binding.
func TestFinishedBeforeAssumed(t *testing.T) {
	_, list := probes(1)
	profile, reg := on(list, Bind)
	var r *rig
	p, waits := testkit.Pod("default/p").Request("cpu=4").Obj(), testkit.Pod("default/waits").Request("cpu=4").Obj()
	r = newRig(t, Options{Profiles: []Profile{profile}, Plugins: reg, OnAttempt: func(pod *v1.Pod, _ *cluster.Snapshot) {
		if pod.Name == "p" {
			delete(r.pods, "default/p")
			r.s.DeletePod(pod)
		}
	}}, []*v1.Node{node("n1")})
	r.add(p, waits)
	require.True(t, r.s.TryScheduleOne(ctx))
	require.True(t, r.s.TryScheduleOne(ctx))
	require.Equal(t, queue.Unschedulable, r.place(waits), "the binding is under way")
	r.work()
	require.Empty(t, r.on("n1"))
	require.Equal(t, queue.Backoff, r.place(waits))
	require.Empty(t, r.errs)
}

// A webhook sends a pod to another node while it is bound. Its room on the node that was chosen is free, and who waits for it is told.
func TestBoundElsewhere(t *testing.T) {
	r := newRig(t, Options{}, []*v1.Node{node("n1"), testkit.Node("n2").Capacity("cpu=4,pods=10").Taint("k=v:NoSchedule").Obj()})
	r.bindsTo = "n2"
	p, waits := testkit.Pod("default/p").Request("cpu=4").Obj(), testkit.Pod("default/waits").Request("cpu=4").Obj()
	r.add(p, waits)
	require.True(t, r.s.TryScheduleOne(ctx))
	require.True(t, r.s.TryScheduleOne(ctx))
	require.Equal(t, queue.Unschedulable, r.place(waits), "the binding is under way")
	r.work()
	require.Equal(t, "p", r.on("n2"))
	require.Equal(t, queue.Backoff, r.place(waits))
	r.bindsTo = ""
	r.clock.advance(time.Second)
	r.step()
	require.Equal(t, "waits", r.on("n1"))
	require.Empty(t, r.errs)
}

// nominatedInMemory returns a rig in which pod p is nominated for n1, which is empty, and the API server does not know it. Pod
// low waits because of the nomination.
func nominatedInMemory(t *testing.T) (r *rig, p, low *v1.Pod) {
	r, p = fullNode(t, Options{}, "a", "b")
	r.failing["p"] = errors.New("the API server is slow")
	r.add(p).step()
	require.Len(t, r.deleted, 2)
	low = testkit.Pod("default/low").Priority(5).Request("cpu=3").Obj()
	r.add(low)
	for r.place(low) == queue.Active {
		require.Equal(t, queue.Backoff, r.place(p))
		r.step()
	}
	require.Equal(t, queue.Unschedulable, r.place(low))
	require.Empty(t, r.pods["default/p"].Status.NominatedNodeName)
	return r, p, low
}

// A nomination that was never written ends with its pod.
func TestUnwrittenNominationEndsWithPod(t *testing.T) {
	r, p, low := nominatedInMemory(t)
	r.s.DeletePod(p)
	require.Equal(t, queue.Backoff, r.place(low))
}

// A nomination that was never written ends with an attempt that clears it. The pod itself waits on.
func TestUnwrittenNominationCleared(t *testing.T) {
	r, p, _ := nominatedInMemory(t)
	r.s.AddPod(identified([]*v1.Pod{testkit.Pod("default/z").On("n1").Priority(20).Request("cpu=1").Obj()})[0])
	r.step()
	require.Equal(t, "p", r.last().Pod.Name)
	require.Equal(t, queue.Unschedulable, r.place(p))
	r.step()
	require.Equal(t, "n1", r.last().Node)
}

// A nomination is cleared in the API server too if the pod's present version does not show it: the patch that wrote it may be on its way.
func TestUnseenNominationCleared(t *testing.T) {
	node, none := "n1", ""
	condition := &v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionFalse}
	for _, c := range []struct{ kept, to, status, want *string }{
		{&none, &none, &none, nil}, {&node, &node, &node, nil}, {&node, &none, &none, &none}, {&none, &none, &node, &none}, {&none, &node, &none, &node},
	} {
		now := pod("p")
		now.Status = v1.PodStatus{NominatedNodeName: *c.status, Conditions: []v1.PodCondition{*condition}}
		require.Equal(t, c.want, StatusPatch{Condition: condition, NominatedNode: c.to}.changes(now, now, *c.kept).NominatedNode)
	}
}
