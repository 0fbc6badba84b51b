package tracker_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
)

// Each method sees what has changed since the last question: no question is between the change and the method.
func TestUnseenChanges(t *testing.T) {
	start := func() (*world, *v1.Pod, devices.Allocation) {
		w := newWorld(t, 2, "k", "other")
		p := claiming("p", "k")
		d := w.allocation(p)
		return w, p, d
	}
	t.Run("Assume", func(t *testing.T) {
		w, p, d := start()
		w.assume(p, d)
		require.NoError(t, w.Set(devices.Deallocated(w.ResourceClaim("default", "k"))))
		q := claiming("q", "k")
		w.assume(q, d)
		require.Equal(t, 1, w.free())
		w.forget(q)
		require.Empty(t, w.users("k"))
	})
	t.Run("Forget", func(t *testing.T) {
		w, p, d := start()
		w.assume(p, d)
		free := devices.Deallocated(w.ResourceClaim("default", "k"))
		require.NoError(t, w.Set(free))
		w.forget(p)
		require.Same(t, free, w.ResourceClaim("default", "k"))
	})
	t.Run("Reserve", func(t *testing.T) {
		w, p, d := start()
		before := w.ResourceClaim("default", "k")
		require.NoError(t, w.Reserve(p, d))
		w.setAll(p, d)
		require.NoError(t, w.Set(before)) // allocated and taken back, both unseen
		require.NoError(t, w.Reserve(claiming("q", "k"), d))
		require.Equal(t, 1, w.free())
	})
	t.Run("Unreserve", func(t *testing.T) {
		w, p, d := start()
		require.NoError(t, w.Reserve(p, d))
		w.setAll(p, d)
		require.True(t, w.Unreserve(p))
		require.Equal(t, 1, w.free(), "the cluster has the allocation")
	})
	t.Run("Fork", func(t *testing.T) {
		w, p, d := start()
		before := w.ResourceClaim("default", "k")
		w.assume(p, d)
		require.NoError(t, w.Set(devices.Deallocated(w.ResourceClaim("default", "k"))))
		w.setAll(claiming("q", "k"), d)
		s := w.Snapshot.Fork()
		fork := &world{T: t, Snapshot: s, Tracker: w.Tracker.Fork(s, tracker.Of(s)), now: noon}
		fork.forget(p)
		require.Equal(t, []string{"q"}, fork.users("k"))
		require.NotSame(t, before, fork.ResourceClaim("default", "k"))
		require.Equal(t, 1, fork.free())
	})
}

// Three pods share a claim and leave in every order; the claim is as before when the last has left.
func TestForgetInEveryOrder(t *testing.T) {
	pods := []*v1.Pod{claiming("p", "k"), claiming("q", "k"), claiming("r", "k")}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		w := newWorld(t, 1, "k")
		w.assume(pods[0], w.allocation(pods[0]))
		w.assume(pods[1], devices.Allocation{})
		w.assume(pods[2], devices.Allocation{})
		for n, k := range order {
			w.forget(pods[k])
			require.Len(t, w.users("k"), 2-n)
			require.NotContains(t, w.users("k"), pods[k].Name)
			require.Equal(t, n == 2, w.ResourceClaim("default", "k").Status.Allocation == nil)
		}
		require.Equal(t, 1, w.free())
	}
}

// A pod whose Assume failed has no step at a claim that another pod was assumed with.
func TestForgetAfterFailure(t *testing.T) {
	w := newWorld(t, 2, "k")
	q := claiming("q", "k")
	w.assume(q, w.allocation(q))
	p := claiming("p", "k")
	nameless := special("default")
	nameless.Name, nameless.GenerateName = "", ""
	require.Error(t, w.Tracker.Assume(w.Snapshot, p, devices.Allocation{
		Claims: []*resourcev1.ResourceClaim{nameless}, Results: make([]resourcev1.AllocationResult, 1),
		Mappings: []v1.ContainerExtendedResourceRequest{{ContainerName: "c", ResourceName: "example.com/gpu", RequestName: "gpu"}},
	}))
	require.Equal(t, []string{"q"}, w.users("k"))
	w.forget(p)
	require.Equal(t, []string{"q"}, w.users("k"))
	w.forget(q)
	require.Nil(t, w.ResourceClaim("default", "k").Status.Allocation)
}

// A claim that Assume created stays while another pod uses it.
func TestCreatedClaimStays(t *testing.T) {
	w := newWorld(t, 2)
	template := &resourcev1.ResourceClaimTemplate{}
	template.Namespace, template.Name, template.Spec.Spec = "default", "one", gpuClaim("x").Spec
	require.NoError(t, w.Set(template))
	p := claiming("p")
	p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "own", ResourceClaimTemplateName: new("one")}}
	f := w.FullFilter(tracker.Options{Templates: true})
	w.assume(p, f.On(f.Compile(p)).Allocation(0))
	q := claiming("q", "p-own-made")
	w.assume(q, devices.Allocation{})
	w.forget(p)
	require.Equal(t, []string{"q"}, w.users("p-own-made"))
	w.forget(q)
	require.Nil(t, w.ResourceClaim("default", "p-own-made"))
}

// A claim that lost its allocation has no history: what others allocated after that stays.
func TestHistoryEnds(t *testing.T) {
	w := newWorld(t, 1, "k")
	p, q, z := claiming("p", "k"), claiming("q", "k"), claiming("z", "k")
	w.assume(p, w.allocation(p))
	require.NoError(t, w.Set(devices.Deallocated(w.ResourceClaim("default", "k"))))
	w.setAll(z, w.allocation(z))
	w.assume(q, devices.Allocation{})
	require.NoError(t, w.Set(devices.Unreserved(w.ResourceClaim("default", "k"), z.UID)))
	w.forget(q)
	require.Empty(t, w.users("k"))
	require.NotNil(t, w.ResourceClaim("default", "k").Status.Allocation)
}

// A claim that was deleted among more changes than the cluster remembers is forgotten.
func TestDeletedUnremembered(t *testing.T) {
	w := newWorld(t, 1, "k", "other")
	p := claiming("p", "k")
	w.assume(p, w.allocation(p))
	old := w.ResourceClaim("default", "k")
	require.NoError(t, w.Remove(old))
	for range 20000 {
		require.NoError(t, w.Set(w.ResourceClaim("default", "other").DeepCopy()))
	}
	require.Equal(t, 1, w.free())
	require.NoError(t, w.Set(old))
	require.Equal(t, 0, w.free())
	w.forget(p)
	require.Same(t, old, w.ResourceClaim("default", "k"), "the pod has no step at the new claim")
}

// A tracker without a log reads new slices at the next question. An empty slot has no devices.
func TestWithoutLog(t *testing.T) {
	w := newWorld(t, 1, "k")
	class := w.DeviceClass("gpu").DeepCopy()
	class.Spec.ExtendedResourceName = new("example.com/gpu")
	require.NoError(t, w.Set(class))
	f := tracker.New(slots{w.Snapshot}, tracker.Of(w.Snapshot)).FullFilter(tracker.Options{})
	count, allocated := f.Offered("example.com/gpu", 0)
	require.Equal(t, []int64{1, 0}, []int64{count, allocated})
	slice := gpus("n4")
	slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: "gpu-1"})
	require.NoError(t, w.Set(slice))
	p := claiming("p", "k")
	w.setAll(p, w.allocation(p))
	count, allocated = f.Offered("example.com/gpu", 0)
	require.Equal(t, []int64{2, 1}, []int64{count, allocated})
	require.NoError(t, w.Remove(w.Node(0)))
	count, allocated = f.Offered("example.com/gpu", 0)
	require.Equal(t, []int64{0, 0}, []int64{count, allocated})
}

// A claim without a UID is in flight for nobody who asks by UID.
func TestInFlightWithoutUID(t *testing.T) {
	w := newWorld(t, 1)
	c := plain("default", "c", "")
	require.NoError(t, w.Set(c))
	require.NoError(t, w.Reserve(claiming("p"), devices.Allocation{Claims: []*resourcev1.ResourceClaim{c}, Results: make([]resourcev1.AllocationResult, 1)}))
	require.False(t, w.InFlight(""))
	require.False(t, w.InFlight(types.UID("c")))
}
