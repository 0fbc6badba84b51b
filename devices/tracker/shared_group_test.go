package tracker_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/podgroup"
)

// Two members use a claim of their group, which is reserved for the group. Whoever leaves first, the other keeps the devices, and the last
// gives them back.
func TestMembersShareAClaim(t *testing.T) {
	for _, first := range []int{0, 1} {
		w := newWorld(t, 1, "k")
		require.NoError(t, w.Set(&podgroup.Group{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g", UID: "uid-g"}, Claims: []podgroup.Claim{{Name: "entry", ClaimName: "k"}}}))
		name := "g"
		pods := []*v1.Pod{claiming("p", "k"), claiming("q", "k")}
		for _, p := range pods {
			p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name}
		}
		compiled := w.Filter(tracker.Options{GroupClaims: true}).Compile(pods[0])
		d := w.Filter(tracker.Options{GroupClaims: true}).On(compiled)
		require.Zero(t, d.Check(0))
		w.assume(pods[0], d.Allocation(0))
		group := []resourcev1.ResourceClaimConsumerReference{{APIGroup: "scheduling.k8s.io", Resource: "podgroups", Name: "g", UID: "uid-g"}}
		require.Equal(t, group, w.ResourceClaim("default", "k").Status.ReservedFor)
		w.assume(pods[1], devices.Allocation{})
		w.forget(pods[first])
		require.NotNil(t, w.ResourceClaim("default", "k").Status.Allocation, "the other member uses the devices")
		require.Equal(t, group, w.ResourceClaim("default", "k").Status.ReservedFor)
		w.forget(pods[1-first])
		require.Nil(t, w.ResourceClaim("default", "k").Status.Allocation)
		require.Empty(t, w.ResourceClaim("default", "k").Status.ReservedFor)
	}
}

// What the origin learns of a claim after the fork, the fork does not forget.
func TestForkKeepsItsClaims(t *testing.T) {
	w := newWorld(t, 2, "k", "l")
	p := claiming("p", "k", "l")
	w.assume(p, w.allocation(p))
	s := w.Snapshot.Fork()
	fork := &world{T: t, Snapshot: s, Tracker: w.Tracker.Fork(s, tracker.Of(s)), now: noon}
	require.NoError(t, w.Set(devices.Deallocated(w.ResourceClaim("default", "k"))))
	require.Equal(t, 1, w.free())
	fork.forget(p)
	require.Equal(t, 2, fork.free())
}
