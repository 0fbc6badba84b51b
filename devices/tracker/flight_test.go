package tracker_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
)

// show gives a claim of the cluster an allocation; nil takes it away.
func show(t *testing.T, s *cluster.Snapshot, name string, allocation *resourcev1.AllocationResult) {
	c := named(name)
	c.Status.Allocation = allocation
	require.NoError(t, s.Set(c))
}

// The first allocation that the cluster shows ends the flight of a claim, as PreBind does in v1.36. Whether the tracker follows the log or reads
// everything again does not matter.
func TestFlightEnds(t *testing.T) {
	for _, again := range []bool{false, true} {
		s, tr := gpuCluster(t, 1, named("a"), named("b"))
		f := tr.Filter(tracker.Options{})
		_, d := first(f, s, gpuPod("a"))
		require.NoError(t, tr.Reserve(gpuPod("a"), d))
		require.True(t, tr.InFlight("uid-a"))
		show(t, s, "a", &d.Results[0])
		require.False(t, tr.InFlight("uid-a"))
		show(t, s, "a", nil)
		if again {
			slice := gpus("n0")
			slice.Labels = map[string]string{"unrelated": "change"}
			require.NoError(t, s.Set(slice))
		}
		require.False(t, tr.InFlight("uid-a"), again)
		at, _ := first(f, s, gpuPod("b"))
		require.Equal(t, 0, at, again)
		fork := s.Fork()
		require.False(t, tr.Fork(fork, tracker.Of(fork)).InFlight("uid-a"))
	}
}

// A pod whose flight has ended takes nothing from the pod that has reserved the claim since.
func TestUnreserveKeepsOthers(t *testing.T) {
	s, tr := gpuCluster(t, 1, named("a"), named("b"))
	f := tr.Filter(tracker.Options{})
	_, d := first(f, s, gpuPod("a"))
	require.NoError(t, tr.Reserve(gpuPod("a"), d))
	show(t, s, "a", &d.Results[0])
	show(t, s, "a", nil)
	other := gpuPod("a")
	other.Name = "other"
	_, d = first(f, s, other)
	require.NoError(t, tr.Reserve(other, d))
	require.True(t, tr.Unreserve(gpuPod("a")))
	require.True(t, tr.InFlight("uid-a"))
	at, _ := first(f, s, gpuPod("b"))
	require.Equal(t, -1, at)
	require.True(t, tr.Unreserve(other))
	at, _ = first(f, s, gpuPod("b"))
	require.Equal(t, 0, at)
}

// With reservations too, a tracker that follows the log answers as one that reads everything again.
func TestFollowsReservations(t *testing.T) {
	const claims = 5
	flights, ended := 0, 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		s, tr := gpuCluster(t, 3, named("c0"), named("c1"), named("c2"), named("c3"), named("c4"))
		f := tr.Filter(tracker.Options{})
		held := map[string]devices.Allocation{}
		for step := range 60 {
			at := fmt.Sprintf("seed %d step %d", seed, step)
			name := fmt.Sprintf("c%d", r.IntN(claims))
			pod := gpuPod(name)
			pod.Name = fmt.Sprintf("%s-%d", name, r.IntN(2)) // two pods share a claim
			switch k := r.IntN(10); {
			case k < 4:
				if i, d := first(f, s, pod); i >= 0 && len(d.Claims) > 0 && tr.Reserve(pod, d) == nil {
					held[name] = d
				}
			case k == 4:
				tr.Unreserve(pod)
			case k < 7:
				if d, ok := held[name]; ok {
					show(t, s, name, &d.Results[0])
				}
			case k == 7:
				show(t, s, name, nil)
			case k == 8:
				if c, ok := cluster.List[*resourcev1.ResourceClaim](s).Get("default", name); ok {
					require.NoError(t, s.Remove(c), at)
				}
			default:
				slice := gpus(fmt.Sprintf("n%d", r.IntN(3)))
				slice.Labels = map[string]string{"step": fmt.Sprint(step)}
				require.NoError(t, s.Set(slice), at)
			}
			if r.IntN(3) > 0 {
				continue // several changes at once
			}
			fork := s.Fork()
			ft := tr.Fork(fork, tracker.Of(fork))
			fresh := ft.Filter(tracker.Options{})
			for k := range claims {
				pod := gpuPod(fmt.Sprintf("c%d", k))
				wantAt, want := first(fresh, fork, pod)
				gotAt, got := first(f, s, pod)
				require.Equal(t, wantAt, gotAt, at)
				require.Equal(t, want, got, at)
				uid := types.UID(fmt.Sprintf("uid-c%d", k))
				require.Equal(t, ft.InFlight(uid), tr.InFlight(uid), at)
				if tr.InFlight(uid) {
					flights++
				} else if _, ok := held[pod.Name]; ok {
					ended++
				}
			}
		}
	}
	require.Greater(t, flights, 500)
	require.Greater(t, ended, 500)
}

// Members of a group reserve a claim together, with the same devices, and the devices are free when the last of them gives up. A pod that is
// no member gets ErrReserved.
func TestReserveMember(t *testing.T) {
	s, tr := gpuCluster(t, 1, named("a"), named("b"))
	f := tr.Filter(tracker.Options{})
	_, d := first(f, s, gpuPod("a"))
	member := func(name string) *v1.Pod {
		pod := gpuPod("a")
		pod.Name = name
		return pod
	}
	require.NoError(t, tr.ReserveMember(member("m1"), d))
	require.NoError(t, tr.ReserveMember(member("m2"), d))
	require.ErrorIs(t, tr.ReserveMember(member("m2"), d), tracker.ErrReserved, "twice")
	require.ErrorIs(t, tr.Reserve(member("x"), d), tracker.ErrReserved, "no member")
	other := d
	other.Results = []resourcev1.AllocationResult{*d.Results[0].DeepCopy()}
	other.Results[0].Devices.Results[0].Device = "another"
	require.ErrorIs(t, tr.ReserveMember(member("m3"), other), tracker.ErrReserved, "other devices")
	fork := s.Fork()
	forked := tr.Fork(fork, tracker.Of(fork))
	require.True(t, tr.Unreserve(member("m1")))
	require.True(t, tr.InFlight("uid-a"))
	at, _ := first(f, s, gpuPod("b"))
	require.Equal(t, -1, at, "the device is not free")
	require.True(t, tr.Unreserve(member("m2")))
	require.False(t, tr.InFlight("uid-a"))
	at, _ = first(f, s, gpuPod("b"))
	require.Equal(t, 0, at)
	require.True(t, forked.Unreserve(member("m2")))
	require.True(t, forked.InFlight("uid-a"), "what the origin gave up the fork has")
	require.True(t, forked.Unreserve(member("m1")))
	require.False(t, forked.InFlight("uid-a"), "and gives up by itself")

	for _, name := range []string{"m1", "m2", "m3"} { // the list of members has room for one more
		require.NoError(t, tr.ReserveMember(member(name), d))
	}
	forked = tr.Fork(fork, tracker.Of(fork))
	require.NoError(t, tr.ReserveMember(member("m4"), d))
	require.NoError(t, forked.ReserveMember(member("m5"), d))
	for _, name := range []string{"m1", "m2", "m3", "m4"} {
		require.True(t, tr.InFlight("uid-a"))
		require.True(t, tr.Unreserve(member(name)))
	}
	require.False(t, tr.InFlight("uid-a"), "the last member of the origin has left")
}
