package tracker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/filter"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// world is a cluster with the node n4, its GPUs, and claims.
type world struct {
	*testing.T
	*cluster.Snapshot
	*tracker.Tracker
	now time.Time
}

// newWorld gives n4 some GPUs and the cluster some claims, all for one GPU.
func newWorld(t *testing.T, gpuCount int, claims ...string) *world {
	slice := gpus("n4")
	slice.Spec.Devices = nil
	for k := range gpuCount {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: "gpu-" + string(rune('0'+k))})
	}
	var list []*resourcev1.ResourceClaim
	for _, name := range claims {
		c := gpuClaim(name)
		c.UID = types.UID(name)
		list = append(list, c)
	}
	s, err := cluster.New(cluster.Objects{
		Nodes: []*v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n4"}}}, ResourceSlices: []*resourcev1.ResourceSlice{slice},
		DeviceClasses: []*resourcev1.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}}, ResourceClaims: list,
	})
	require.NoError(t, err)
	return &world{T: t, Snapshot: s, Tracker: tracker.New(s, tracker.Of(s)), now: noon}
}

// claiming returns a pod that uses claims.
func claiming(name string, claims ...string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	for k := range claims {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: "entry", ResourceClaimName: &claims[k]})
	}
	return pod
}

// ask returns the answer of n4 about a pod: "" when n4 serves the pod. The state is nil when every node rejects the pod.
func (w *world) ask(pod *v1.Pod) (string, devices.State) {
	f := w.Filter(tracker.Options{Now: func() time.Time { return w.now }})
	compiled := f.Compile(pod)
	if compiled.Code() != filter.Success {
		return compiled.Reason(), nil
	}
	state := f.On(compiled)
	if v := state.Check(0); v != 0 {
		return state.Reasons(v)[0], state
	}
	return "", state
}

// allocation returns what a pod gets on n4, which must serve the pod.
func (w *world) allocation(pod *v1.Pod) devices.Allocation {
	reason, state := w.ask(pod)
	require.Empty(w, reason)
	return state.Allocation(0)
}

// setAll writes what Bound returns for a pod.
func (w *world) setAll(pod *v1.Pod, d devices.Allocation) {
	claims, err := w.Tracker.Bound(pod, d, w.now)
	require.NoError(w, err)
	for _, c := range claims {
		require.NoError(w, w.Set(c))
	}
}

// U-105: what one attempt has reserved is in use for every other pod, until Unreserve.
func TestReserved(t *testing.T) {
	w := newWorld(t, 2, "k", "one", "first", "second")
	p := claiming("p", "k")
	require.NoError(t, w.Reserve(p, w.allocation(p)))
	reason, _ := w.ask(claiming("q", "k"))
	require.Equal(t, "resource claim default/k is in the process of being allocated", reason)
	both := claiming("q", "first", "second")
	reason, _ = w.ask(both)
	require.Equal(t, "cannot allocate all claims", reason)
	reason, _ = w.ask(claiming("q", "one"))
	require.Empty(t, reason)
	require.True(t, w.Unreserve(p))
	reason, _ = w.ask(both)
	require.Empty(t, reason, "both GPUs are free")
	reason, _ = w.ask(claiming("q", "k"))
	require.Empty(t, reason)
}

// U-108: two pods share an allocated claim. The second pod is appended to status.reservedFor, and leaves alone.
func TestSharedReservation(t *testing.T) {
	w := newWorld(t, 1, "k")
	p, q := claiming("p", "k"), claiming("q", "k")
	w.setAll(p, w.allocation(p))
	require.Empty(t, w.allocation(q), "the claim has its devices")
	w.setAll(q, devices.Allocation{})
	users := func() (out []string) {
		for _, r := range w.ResourceClaim("default", "k").Status.ReservedFor {
			out = append(out, r.Name)
		}
		return out
	}
	require.Equal(t, []string{"p", "q"}, users())
	require.NoError(t, w.Set(devices.Unreserved(w.ResourceClaim("default", "k"), q.UID)))
	require.Equal(t, []string{"p"}, users())
}

// U-109: a pod that lists a claim twice gets two devices and can reserve them. PreBind refuses the second allocation.
func TestClaimTwice(t *testing.T) {
	w := newWorld(t, 2, "k")
	p := claiming("p", "k", "k")
	d := w.allocation(p)
	require.Len(t, d.Claims, 2)
	require.NoError(t, w.Reserve(p, d))
	_, err := w.Tracker.Bound(p, d, noon)
	require.EqualError(t, err, "claim default/k got allocated elsewhere in the meantime")
	require.True(t, w.Unreserve(p))
	require.Equal(t, w.allocation(p).Results, d.Results, "both devices are free again")
}

// U-113: binding conditions that are never met. The next attempt after the time-out finds the claim unavailable and gives the
// allocation back; the attempt after that allocates again.
func TestConditionsNeverMet(t *testing.T) {
	w := newWorld(t, 1, "k")
	slice := gpus("n4")
	slice.Spec.Devices[0].BindingConditions = []string{"Attached"}
	require.NoError(t, w.Set(slice))
	p := claiming("p", "k")
	w.setAll(p, w.allocation(p))
	reason, _ := w.ask(p)
	require.Empty(t, reason, "the claim may still wait for its conditions")

	w.now = noon.Add(10*time.Minute + time.Second)
	reason, state := w.ask(p)
	require.Equal(t, "resourceclaim not available on the node", reason)
	release := state.Freed()
	require.Equal(t, "deallocation of ResourceClaim completed", release.Reason)
	free := devices.Deallocated(release.Deallocate)
	require.Equal(t, []string{resourcev1.Finalizer}, free.Finalizers)
	require.NoError(t, w.Set(free))
	require.Len(t, w.allocation(p).Claims, 1)
}

// A decision that was made before a claim or its devices changed reserves nothing, and a failed Assume changes nothing.
func TestLateReservation(t *testing.T) {
	w := newWorld(t, 1, "k", "other")
	p := claiming("p", "k")
	d := w.allocation(p)
	gone := w.ResourceClaim("default", "k")
	require.NoError(t, w.Remove(gone))
	require.ErrorIs(t, w.Reserve(p, d), tracker.ErrReserved)
	_, reserved := w.Reserved(p)
	require.False(t, reserved)
	reason, _ := w.ask(claiming("q", "other"))
	require.Empty(t, reason, "the GPU is free")
	require.EqualError(t, w.Tracker.Assume(w.Snapshot, p, d), "claim default/k got deleted in the meantime")
	require.Nil(t, w.ResourceClaim("default", "k"))
	require.Nil(t, w.ResourceClaim("default", "other").Status.Allocation)
}
