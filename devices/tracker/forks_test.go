package tracker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
)

// A fork knows the pods that were assumed before it, and forgets them by itself.
func TestForkForgets(t *testing.T) {
	w := newWorld(t, 2, "k", "l")
	p := claiming("p", "k", "l")
	w.assume(p, w.allocation(p))
	require.Zero(t, w.free())
	s := w.Snapshot.Fork()
	fork := &world{T: t, Snapshot: s, Tracker: w.Tracker.Fork(s, tracker.Of(s)), now: noon}
	fork.forget(p)
	require.Equal(t, 2, fork.free())
	require.Zero(t, w.free(), "the tracker that was forked still has the pod")
	w.forget(p)
	require.Equal(t, 2, w.free())
}

// A fork has the clock of its origin: what it assumes has this time, without a filter of its own.
func TestForkHasTheClock(t *testing.T) {
	s, tr := gpuCluster(t, 1, named("a"))
	f := tr.Filter(tracker.Options{Now: func() time.Time { return noon }})
	_, d := first(f, s, gpuPod("a"))
	snapshot := s.Fork()
	fork := tr.Fork(snapshot, tracker.Of(snapshot))
	require.NoError(t, fork.Assume(snapshot, gpuPod("a"), d))
	require.Equal(t, noon, fork.ResourceClaim("default", "a").Status.Allocation.AllocationTimestamp.Time)
}

// What lands in one of two trackers does not land in the other.
func TestForkSharesNoFlight(t *testing.T) {
	s, tr := gpuCluster(t, 1, named("a"))
	f := tr.Filter(tracker.Options{})
	_, d := first(f, s, gpuPod("a"))
	require.NoError(t, tr.Reserve(gpuPod("a"), d))
	snapshot := s.Fork()
	fork := tr.Fork(snapshot, tracker.Of(snapshot))
	show(t, snapshot, "a", &d.Results[0])
	require.False(t, fork.InFlight("uid-a"))
	require.True(t, tr.InFlight("uid-a"), "the origin waits for its own cluster")
	show(t, s, "a", &d.Results[0])
	require.False(t, tr.InFlight("uid-a"))
}

// A pod that names a claim twice gets it once, and a pod that has it already does not get it again.
func TestBoundOnce(t *testing.T) {
	w := newWorld(t, 1, "k")
	p, q := claiming("p", "k"), claiming("q", "k", "k")
	w.setAll(p, w.allocation(p))
	bound, err := tracker.Of(w.Snapshot).Bound(q, devices.Allocation{}, noon)
	require.NoError(t, err)
	require.Len(t, bound, 1)
	require.Equal(t, "k", bound[0].Name)
	bound, err = tracker.Of(w.Snapshot).Bound(p, devices.Allocation{}, noon)
	require.NoError(t, err)
	require.Empty(t, bound)
}

// Changes that the cluster does not remember any more are read again: a pod whose claim lost its devices meanwhile is forgotten.
func TestForgottenChanges(t *testing.T) {
	w := newWorld(t, 2, "k", "other")
	p := claiming("p", "k")
	w.assume(p, w.allocation(p))
	require.NoError(t, w.Set(devices.Deallocated(w.ResourceClaim("default", "k"))))
	for range 20000 {
		require.NoError(t, w.Set(w.ResourceClaim("default", "other").DeepCopy()))
	}
	require.Equal(t, 2, w.free())
	q := claiming("q", "k")
	w.assume(q, w.allocation(q))
	w.forget(p)
	require.Equal(t, []string{"q"}, w.users("k"), "p has no step at the claim")
	require.Equal(t, 1, w.free())
}

// Without claims every question has an answer.
func TestNoClaims(t *testing.T) {
	for range (tracker.Objects{}).ResourceClaims("default") {
		t.Fatal("a claim")
	}
}

// A fork has no step of a pod at a claim that lost its allocation before the fork, even when nobody asked meanwhile: a later allocation
// is not the pod's to take back.
func TestForkAfterLoss(t *testing.T) {
	w := newWorld(t, 2, "k")
	p := claiming("p", "k")
	w.assume(p, w.allocation(p))
	allocated := w.ResourceClaim("default", "k").DeepCopy()
	require.NoError(t, w.Set(devices.Deallocated(allocated)))
	s := w.Snapshot.Fork()
	fork := &world{T: t, Snapshot: s, Tracker: w.Tracker.Fork(s, tracker.Of(s)), now: noon}
	allocated.Status.ReservedFor = nil
	require.NoError(t, s.Set(allocated))
	fork.forget(p)
	require.Equal(t, 1, fork.free())
	require.Equal(t, 2, w.free())
}
