package tracker_test

import (
	"fmt"
	"math/rand/v2"
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
	"github.com/podberth/podberth/internal/testkit"
)

func named(name string) *resourcev1.ResourceClaim {
	c := gpuClaim(name)
	c.UID = types.UID("uid-" + name)
	return c
}

// gpuCluster has nodes n0, n1 and so on, each with one GPU.
func gpuCluster(tb testing.TB, nodes int, claims ...*resourcev1.ResourceClaim) (*cluster.Snapshot, *tracker.Tracker) {
	o := cluster.Objects{DeviceClasses: []*resourcev1.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}}, ResourceClaims: claims}
	for k := range nodes {
		name := fmt.Sprintf("n%d", k)
		o.Nodes = append(o.Nodes, testkit.Node(name).Capacity("cpu=4,pods=9").Obj())
		o.ResourceSlices = append(o.ResourceSlices, gpus(name))
	}
	s, err := cluster.New(o)
	require.NoError(tb, err)
	return s, tracker.New(s, tracker.Of(s))
}

// first returns the first node that can take the pod, and what the pod gets there; -1 without a node.
func first(f tracker.Filter, s *cluster.Snapshot, pod *v1.Pod) (int, devices.Allocation) {
	compiled := f.Compile(pod)
	if compiled.Code() != filter.Success {
		return -1, devices.Allocation{}
	}
	state := f.On(compiled)
	for i := range s.Len() {
		if state.Check(i) == 0 {
			return i, state.Allocation(i)
		}
	}
	return -1, devices.Allocation{}
}

// A claim that has changed since the decision, and a claim that another pod has reserved, cannot be reserved. Nothing changes then.
func TestReserveRefuses(t *testing.T) {
	type world struct {
		s *cluster.Snapshot
		t *tracker.Tracker
	}
	type test struct {
		name, why, want string
		before          func(w world, d devices.Allocation) error
	}
	testkit.Run(t, []test{
		{"nothing happened", "the devices are kept", "", func(world, devices.Allocation) error { return nil }},
		{"reserved for the pod", "a pod reserves once", "pod default/a: devices are reserved already",
			func(w world, d devices.Allocation) error { return w.t.Reserve(gpuPod("a"), d) }},
		{"reserved for another pod", "the pods share a claim", "claim default/a: devices are reserved already",
			func(w world, d devices.Allocation) error {
				other := gpuPod("a")
				other.Name = "other"
				return w.t.Reserve(other, d)
			}},
		{"deleted", "the claim is gone", "claim default/a got deleted in the meantime: devices are reserved already",
			func(w world, d devices.Allocation) error { return w.s.Remove(d.Claims[0]) }},
		{"another claim of that name", "the UID differs", "claim default/a got deleted in the meantime: devices are reserved already",
			func(w world, d devices.Allocation) error {
				c := named("a")
				c.UID = "another"
				return w.s.Set(c)
			}},
		{"allocated", "somebody else was faster", "claim default/a got allocated elsewhere in the meantime: devices are reserved already",
			func(w world, d devices.Allocation) error {
				c := named("a")
				c.Status.Allocation = &d.Results[0]
				return w.s.Set(c)
			}},
	}, func(t *testing.T, c test) {
		s, tr := gpuCluster(t, 2, named("a"), named("b"))
		f := tr.Filter(tracker.Options{})
		_, d := first(f, s, gpuPod("a"))
		require.Len(t, d.Claims, 1)
		require.NoError(t, c.before(world{s, tr}, d))
		at, _ := first(f, s, gpuPod("b"))
		err := tr.Reserve(gpuPod("a"), d)
		if c.want == "" {
			require.NoError(t, err)
			require.True(t, tr.InFlight("uid-a"))
			got, ok := tr.Reserved(gpuPod("a"))
			require.True(t, ok)
			require.Equal(t, d, got)
			require.True(t, tr.Unreserve(gpuPod("a")))
			require.False(t, tr.InFlight("uid-a"))
		} else {
			require.ErrorIs(t, err, tracker.ErrReserved)
			require.EqualError(t, err, c.want)
		}
		again, _ := first(f, s, gpuPod("b"))
		require.Equal(t, at, again)
	})
}

// What nobody knows changes nothing.
func TestUnknown(t *testing.T) {
	s, tr := gpuCluster(t, 1, named("a"))
	require.NoError(t, tr.Reserve(nil, devices.Allocation{}))
	require.NoError(t, tr.Assume(s, &v1.Pod{}, devices.Allocation{}))
	require.NoError(t, tr.Forget(s, nil))
	require.NoError(t, tr.Forget(s, gpuPod("a")))
	require.False(t, tr.Unreserve(nil))
	require.False(t, tr.Unreserve(gpuPod("a")))
	_, ok := tr.Reserved(nil)
	require.False(t, ok)
	_, ok = tr.Reserved(gpuPod("a"))
	require.False(t, ok)
	require.False(t, tr.InFlight(""))
	require.Equal(t, filter.UnschedulableAndUnresolvable, tr.Filter(tracker.Options{}).Compile(gpuPod("nothing")).Code())
	empty := tracker.New(s, tracker.Objects{})
	require.Empty(t, empty.Made(gpuPod("a")))
	require.Nil(t, empty.ResourceClaim("default", "a"))
}

// A fork has the reservations of its origin and shares nothing else with it.
func TestForkApart(t *testing.T) {
	s, tr := gpuCluster(t, 2, named("a"), named("b"), named("c"))
	f := tr.Filter(tracker.Options{})
	_, a := first(f, s, gpuPod("a"))
	require.NoError(t, tr.Reserve(gpuPod("a"), a))
	other := s.Fork()
	fork := tr.Fork(other, tracker.Of(other))
	ff := fork.Filter(tracker.Options{})
	at, b := first(ff, other, gpuPod("b"))
	require.Equal(t, 1, at, "the GPU of n0 is reserved")
	require.NoError(t, fork.Assume(other, gpuPod("b"), b))
	at, _ = first(ff, other, gpuPod("c"))
	require.Equal(t, -1, at)
	at, _ = first(f, s, gpuPod("c"))
	require.Equal(t, 1, at)
	require.True(t, tr.Unreserve(gpuPod("a")))
	require.True(t, fork.InFlight("uid-a"))
}

// Options.Now is the time of Assume's allocations and of binding conditions.
func TestNow(t *testing.T) {
	slice := gpus("n0")
	slice.Spec.Devices[0].BindingConditions, slice.Spec.Devices[0].BindingFailureConditions = []string{"ready"}, []string{"failed"}
	s, tr := gpuCluster(t, 1, named("a"))
	require.NoError(t, s.Set(slice))
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f := tr.Filter(tracker.Options{Now: func() time.Time { return now }, BindingTimeout: time.Minute})
	_, d := first(f, s, gpuPod("a"))
	require.NoError(t, tr.Assume(s, gpuPod("a"), d))
	require.Equal(t, now, tr.ResourceClaim("default", "a").Status.Allocation.AllocationTimestamp.Time)
	at, _ := first(f, s, gpuPod("a"))
	require.Equal(t, 0, at, "the condition may still come")
	now = now.Add(2 * time.Minute)
	at, _ = first(f, s, gpuPod("a"))
	require.Equal(t, -1, at, "the time is over")
}

// A tracker that follows any changes answers as a new tracker.
func TestFollows(t *testing.T) {
	for seed := range uint64(40) {
		follow(t, rand.New(rand.NewPCG(seed, 2)), fmt.Sprint("seed ", seed), 60)
	}
}

func FuzzFollows(f *testing.F) {
	f.Add(testkit.RandomBytes(1, 400), uint8(40))
	f.Fuzz(func(t *testing.T, data []byte, steps uint8) {
		follow(t, rand.New(testkit.NewBytes(data)), "fuzz", int(steps))
	})
}

func follow(t *testing.T, r *rand.Rand, name string, steps int) {
	s, tr := gpuCluster(t, 4, named("c0"), named("c1"), named("c2"), named("c3"), named("c4"))
	f := tr.Filter(tracker.Options{})
	var marks []cluster.Mark
	for step := range steps {
		at := fmt.Sprintf("%s step %d", name, step)
		pod := gpuPod(fmt.Sprintf("c%d", r.IntN(5)))
		switch k := r.IntN(10); {
		case k < 4:
			if i, d := first(f, s, pod); i >= 0 {
				require.NoError(t, tr.Assume(s, pod, d), at)
			}
		case k < 6:
			require.NoError(t, tr.Forget(s, pod), at)
		case k == 6:
			slice := gpus(fmt.Sprintf("n%d", r.IntN(4)))
			for n := range r.IntN(2) {
				slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", n+1)})
			}
			require.NoError(t, s.Set(slice), at)
		case k == 7:
			require.NoError(t, s.Set(named(pod.Name)), at) // the claim loses its allocation
		case k == 8:
			marks = append(marks, s.Mark())
		case len(marks) > 0:
			require.True(t, s.Rollback(marks[len(marks)-1]), at)
			marks = marks[:len(marks)-1]
		}
		fresh := tracker.New(s, tracker.Of(s)).Filter(tracker.Options{})
		for k := range 5 {
			pod := gpuPod(fmt.Sprintf("c%d", k))
			wantAt, want := first(fresh, s, pod)
			gotAt, got := first(f, s, pod)
			require.Equal(t, wantAt, gotAt, at)
			require.Equal(t, want, got, at)
		}
	}
}

// BenchmarkAssume decides, assumes and forgets one pod on 5,000 nodes with a GPU each.
func BenchmarkAssume(b *testing.B) {
	s, tr := gpuCluster(b, 5000, named("a"))
	f := tr.Filter(tracker.Options{})
	pod := gpuPod("a")
	b.ReportAllocs()
	for b.Loop() {
		at, d := first(f, s, pod)
		if at != 0 {
			b.Fatal(at)
		}
		if err := tr.Assume(s, pod, d); err != nil {
			b.Fatal(err)
		}
		if err := tr.Forget(s, pod); err != nil {
			b.Fatal(err)
		}
	}
}
