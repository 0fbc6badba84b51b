package tracker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
)

// A claim that others allocated is the object of before each time when a pod is forgotten.
func TestForgetTwice(t *testing.T) {
	w := newWorld(t, 1, "k")
	p, q := claiming("p", "k"), claiming("q", "k")
	w.setAll(p, w.allocation(p))
	before := w.ResourceClaim("default", "k")
	for range 3 {
		w.assume(q, devices.Allocation{})
		require.Equal(t, []string{"p", "q"}, w.users("k"))
		w.forget(q)
		require.Same(t, before, w.ResourceClaim("default", "k"))
	}
}

// An allocation belongs to the pods that used the claim when Assume came: a later pod does not take it away.
func TestForgetAfterOthers(t *testing.T) {
	w := newWorld(t, 1, "k")
	p, q, z := claiming("p", "k"), claiming("q", "k"), claiming("z", "k")
	w.assume(p, w.allocation(p))
	w.setAll(z, devices.Allocation{})
	w.forget(p)
	require.Equal(t, []string{"z"}, w.users("k"))
	w.assume(q, devices.Allocation{})
	require.NoError(t, w.Set(devices.Unreserved(w.ResourceClaim("default", "k"), z.UID)))
	w.forget(q)
	require.Empty(t, w.users("k"))
	require.NotNil(t, w.ResourceClaim("default", "k").Status.Allocation)
}

// When one claim of a pod loses its allocation, the other is taken back all the same, and the first is left as it is.
func TestForgetTheOtherClaim(t *testing.T) {
	for _, many := range []bool{false, true} { // more changes than the cluster remembers
		w := newWorld(t, 2, "k", "l", "other")
		p := claiming("p", "k", "l")
		w.assume(p, w.allocation(p))
		free := devices.Deallocated(w.ResourceClaim("default", "k"))
		require.NoError(t, w.Set(free))
		if many {
			for range 20000 {
				require.NoError(t, w.Set(w.ResourceClaim("default", "other").DeepCopy()))
			}
		}
		reason, _ := w.ask(claiming("q", "other"))
		require.Empty(t, reason, "one GPU is free")
		w.forget(p)
		require.Same(t, free, w.ResourceClaim("default", "k"))
		require.Nil(t, w.ResourceClaim("default", "l").Status.Allocation)
		require.Equal(t, 2, w.free())
	}
}

// extended returns a pod that asks for an extended resource, and the class that provides it.
func extended(namespace, name string) (*v1.Pod, *resourcev1.DeviceClass) {
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	class.Spec.ExtendedResourceName = new("example.com/gpu")
	p := claiming(name)
	p.Namespace, p.UID = namespace, ""
	p.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"example.com/gpu": resource.MustParse("1")}}}}
	return p, class
}

// A new class counts at the next question, also when the cluster has forgotten what changed, and over a cluster without a log.
func TestNewClassesCount(t *testing.T) {
	for _, many := range []bool{false, true} {
		w := newWorld(t, 1, "other")
		f, plain := w.Filter(tracker.Options{}), tracker.New(slots{w.Snapshot}, tracker.Of(w.Snapshot)).Filter(tracker.Options{})
		p, class := extended("default", "p")
		require.True(t, f.Skips(p))
		require.True(t, plain.Skips(p))
		require.NoError(t, w.Set(class))
		if many {
			for range 20000 {
				require.NoError(t, w.Set(w.ResourceClaim("default", "other").DeepCopy()))
			}
		}
		require.Len(t, f.Compile(p).Claims(), 1, "the special claim")
		require.False(t, f.Skips(p))
		require.False(t, plain.Skips(p))
		require.Len(t, plain.Compile(p).Claims(), 1)
		require.NoError(t, w.Remove(class))
		require.True(t, f.Skips(p))
		require.True(t, plain.Skips(p))
	}
}

// Pods of one name in two namespaces have claims of their own, also before the API server has these.
func TestReservationsByNamespace(t *testing.T) {
	w := newWorld(t, 2)
	p, class := extended("default", "p")
	q, _ := extended("other", "p")
	require.NoError(t, w.Set(class))
	mine, theirs := w.allocation(p), w.allocation(q)
	require.NoError(t, w.Reserve(p, mine))
	require.NoError(t, w.Reserve(q, theirs))
	_, reserved := w.Reserved(p)
	require.True(t, reserved)
	require.ErrorIs(t, w.Reserve(p, mine), tracker.ErrReserved)
}

// A reservation whose allocation the cluster has shown and taken back holds no device. The next one does.
func TestReservedAgainAfterLanding(t *testing.T) {
	w := newWorld(t, 2, "k", "one", "two")
	p, q := claiming("p", "k"), claiming("q", "k")
	d := w.allocation(p)
	require.NoError(t, w.Reserve(p, d))
	w.setAll(p, d)
	require.NoError(t, w.Set(devices.Deallocated(w.ResourceClaim("default", "k"))))
	require.Equal(t, 2, w.free())
	other := claiming("o", "one")
	w.setAll(other, w.allocation(other)) // has the device that p had
	d = w.allocation(q)
	require.NoError(t, w.Reserve(q, d))
	require.Equal(t, 0, w.free())
	require.True(t, w.Unreserve(q))
	require.Equal(t, 1, w.free())
}

// A filter without a clock leaves the clock of another filter. Objects alone know no reservations.
func TestClockStays(t *testing.T) {
	w := newWorld(t, 1, "k")
	p := claiming("p", "k")
	d := w.allocation(p) // with the clock of the world
	w.Filter(tracker.Options{})
	w.now = noon.Add(time.Hour)
	w.assume(p, d)
	require.Equal(t, w.now, w.ResourceClaim("default", "k").Status.Allocation.AllocationTimestamp.Time)
	require.False(t, tracker.Of(w.Snapshot).InFlight("k"))
	require.False(t, tracker.Of(w.Snapshot).InFlight(""))
}

// Claims without UIDs are told apart by name, and a change of a claim is a new version.
func TestClaimsWithoutUIDs(t *testing.T) {
	w := newWorld(t, 3)
	at := w.Tracker.Version()
	for _, name := range []string{"a", "b"} {
		c := gpuClaim(name)
		c.UID = ""
		require.NoError(t, w.Set(c))
		require.Greater(t, w.Tracker.Version(), at)
		at = w.Tracker.Version()
	}
	p, q := claiming("p", "a"), claiming("q", "b")
	d := w.allocation(p)
	require.NoError(t, w.Reserve(p, d))
	require.NoError(t, w.Reserve(q, w.allocation(q)))
	require.ErrorIs(t, w.Reserve(claiming("r", "a"), d), tracker.ErrReserved)
	require.Equal(t, 1, w.free())
}
