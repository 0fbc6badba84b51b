package scheduler

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/queue"
)

// claimGang is deviceRig with a gang that has the claim shared.
func claimGang(t *testing.T, minimum int32, o Options, claims ...string) *rig {
	r := deviceRig(t, o, claims...)
	g := &podgroup.Group{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g", UID: "uid-g"}, Claims: []podgroup.Claim{{Name: "shared", ClaimName: "shared"}}}
	g.Minimum = &minimum
	r.s.Set(nil, g)
	return r
}

func memberWith(name string, claims ...string) *v1.Pod {
	pod := testkit.Pod(name).Obj()
	pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: new("g")}
	for _, c := range claims {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: c, ResourceClaimName: new(c)})
	}
	return pod
}

// Members of one attempt share a claim that was not allocated: each would write the allocation, the first does, and the others follow with
// their next attempt (E85, E87). With the gate the reservation is the group's, without it every pod has one.
func TestMembersShareAClaim(t *testing.T) {
	type test struct {
		name, why string
		on        bool
		first     []string // after the first attempt
		last      []string
	}
	testkit.Run(t, []test{
		{"E85", "one reservation of the group serves both members", true, []string{"own:", "shared: gpu-0 for g"}, []string{"own: gpu-1 for b", "shared: gpu-0 for g"}},
		{"E87", "pods share it as pods do", false, []string{"own:", "shared: gpu-0 for a"}, []string{"own: gpu-1 for b", "shared: gpu-0 for a for b"}},
	}, func(t *testing.T, c test) {
		r := claimGang(t, 1, Options{Groups: &podgroup.Gates{Claims: c.on}}, "own", "shared")
		a, b := memberWith("a", "shared"), memberWith("b", "shared", "own")
		r.add(a, b)
		require.True(t, r.s.TryScheduleOne(ctx))
		require.Equal(t, []string{"own:", "shared:"}, r.held(), "nothing is written before the binding cycles")
		r.work()
		require.Equal(t, "n2", r.pods["default/a"].Spec.NodeName)
		require.Equal(t, c.first, r.held())
		require.Contains(t, r.events, `b: Warning FailedScheduling/Scheduling running PreBind plugin "DynamicResources": claim default/shared got allocated elsewhere in the meantime`)
		require.Equal(t, "SchedulerError", r.pods["default/b"].Status.Conditions[0].Reason)
		r.play(3)
		require.Equal(t, "n2", r.pods["default/b"].Spec.NodeName)
		require.Equal(t, c.last, r.held())
		require.Empty(t, r.errs)
	})
}

// Devices that two members have reserved are free when both have given up, and not before. A failed member takes no reservation of the group
// away (PG8.2).
func TestMembersGiveUpAClaim(t *testing.T) {
	r := claimGang(t, 1, Options{Groups: &podgroup.Gates{Claims: true}}, "other", "shared", "third")
	r.add(memberWith("a", "shared"), memberWith("b", "shared"))
	require.True(t, r.s.TryScheduleOne(ctx))
	r.failing["claims"] = errors.New("boom")
	tasks := r.tasks
	r.tasks = nil
	tasks[0]()
	r.add(withClaim(testkit.Pod("x").Priority(1).Obj(), "shared"))
	require.True(t, r.s.TryScheduleOne(ctx))
	require.Contains(t, r.events, "x: Warning FailedScheduling/Scheduling 0/2 nodes are available: resource claim default/shared is in the process of being allocated. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.")
	r.s.DeletePod(r.pods["default/x"])
	tasks[1]()
	delete(r.failing, "claims")
	r.s.DeletePod(r.pods["default/a"])
	r.s.DeletePod(r.pods["default/b"])
	r.add(withClaim(testkit.Pod("y").Obj(), "other"), withClaim(testkit.Pod("z").Obj(), "third"))
	r.play(0)
	require.Equal(t, []string{"other: gpu-0 for y", "shared:", "third: gpu-1 for z"}, r.held())
}

// A pod waits for the claim of its group as for its own: at the gate, and for the conditions of its devices.
func TestClaimOfAGroup(t *testing.T) {
	r := claimGang(t, 2, Options{Groups: &podgroup.Gates{Claims: true}})
	r.add(memberWith("a", "shared"), memberWith("b"))
	require.Equal(t, queue.Gated, r.place(r.pods["default/a"]))
	r.claim("shared")
	c := r.claims["shared"].(*resourcev1.ResourceClaim).DeepCopy()
	c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{
		Request: "gpu", Driver: "gpu.example.com", Pool: "n2", Device: "gpu-0", BindingConditions: []string{"ready"}, BindingFailureConditions: []string{"broken"},
	}}}}
	r.s.Set(r.claims["shared"], c)
	r.claims["shared"] = c
	r.play(2)
	require.NotEmpty(t, r.pods["default/a"].Spec.NodeName)
	require.Equal(t, []string{"shared: gpu-0 for g"}, r.held())
	require.Equal(t, []string{"shared"}, r.waited)
	require.Empty(t, r.errs)
}
