package tracker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/filter"
)

// users returns the pods of status.reservedFor.
func (w *world) users(claim string) (out []string) {
	for _, r := range w.ResourceClaim("default", claim).Status.ReservedFor {
		out = append(out, r.Name)
	}
	return out
}

// free is the number of GPUs of n4 that no claim holds.
func (w *world) free() int {
	n := 0
	for w.serves(n + 1) {
		n++
	}
	return n
}

func (w *world) serves(count int) bool {
	c := gpuClaim("probe")
	c.Spec.Devices.Requests[0].Exactly.Count = int64(count)
	require.NoError(w, w.Set(c))
	reason, _ := w.ask(claiming("probe", "probe"))
	require.NoError(w, w.Remove(c))
	return reason == ""
}

func (w *world) assume(pod *v1.Pod, d devices.Allocation) {
	require.NoError(w, w.Tracker.Assume(w.Snapshot, pod, d))
}

func (w *world) forget(pod *v1.Pod) { require.NoError(w, w.Tracker.Forget(w.Snapshot, pod)) }

// Forget takes back what Assume wrote: the claim of one pod is as before, and a shared claim keeps its devices for the last user.
func TestAssumeForget(t *testing.T) {
	w := newWorld(t, 2, "k", "own")
	p, q := claiming("p", "k", "own"), claiming("q", "k")
	q.UID = "" // a pod without a UID is known by its name
	for _, order := range [][]*v1.Pod{{p, q}, {q, p}} {
		w.assume(p, w.allocation(p))
		require.Equal(t, 0, w.free())
		w.assume(q, w.allocation(q))
		require.Equal(t, []string{"p", "q"}, w.users("k"))
		w.forget(order[0])
		require.Equal(t, []string{order[1].Name}, w.users("k"))
		require.NotNil(t, w.ResourceClaim("default", "k").Status.Allocation)
		w.forget(order[0]) // nobody knows the pod any more
		require.Equal(t, []string{order[1].Name}, w.users("k"))
		w.forget(order[1])
		require.Nil(t, w.ResourceClaim("default", "k").Status.Allocation)
		require.Empty(t, w.users("k"))
		require.Equal(t, 2, w.free())
	}
	before := w.ResourceClaim("default", "k")
	w.assume(p, w.allocation(p))
	w.forget(p)
	require.Same(t, before, w.ResourceClaim("default", "k"), "the claim of before, not a copy")

	w.assume(p, w.allocation(p))
	changed := w.ResourceClaim("default", "k").DeepCopy()
	changed.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Driver: "gpu.example.com", Pool: "n4", Device: "gpu-0"}}
	require.NoError(t, w.Set(changed))
	w.forget(p)
	now := w.ResourceClaim("default", "k")
	require.Nil(t, now.Status.Allocation)
	require.Nil(t, now.Status.Devices)
	require.Equal(t, 2, w.free())

	w.assume(p, w.allocation(p))
	require.NoError(t, w.Remove(w.ResourceClaim("default", "k")))
	w.forget(p)
	require.Nil(t, w.ResourceClaim("default", "k"), "a claim that was deleted meanwhile stays away")
}

// A claim that was allocated before keeps its devices when all pods that Assume added are forgotten.
func TestForgetKeepsAllocation(t *testing.T) {
	w := newWorld(t, 1, "k")
	p, q, r := claiming("p", "k"), claiming("q", "k"), claiming("r", "k")
	w.setAll(p, w.allocation(p))
	w.assume(q, devices.Allocation{})
	w.assume(r, devices.Allocation{})
	w.forget(q)
	require.Equal(t, []string{"p", "r"}, w.users("k"))
	require.NoError(t, w.Set(devices.Unreserved(w.ResourceClaim("default", "k"), "p")))
	w.forget(r)
	require.Empty(t, w.users("k"))
	require.NotNil(t, w.ResourceClaim("default", "k").Status.Allocation)
	require.Equal(t, 0, w.free())
}

// Assume writes all claims of a pod or none of them.
func TestAssumeAllOrNothing(t *testing.T) {
	w := newWorld(t, 3, "k", "l")
	p := claiming("p", "k", "l")
	d := w.allocation(p)
	nameless := gpuClaim("") // the API server would refuse it
	nameless.UID, nameless.Annotations = "", map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"}
	d.Claims = append(d.Claims, nameless)
	d.Results = append(d.Results, resourcev1.AllocationResult{})
	d.Mappings = []v1.ContainerExtendedResourceRequest{{ContainerName: "c", ResourceName: "example.com/gpu", RequestName: "gpu"}}
	k, l := w.ResourceClaim("default", "k"), w.ResourceClaim("default", "l")
	require.Error(t, w.Tracker.Assume(w.Snapshot, p, d))
	require.Same(t, k, w.ResourceClaim("default", "k"))
	require.Same(t, l, w.ResourceClaim("default", "l"))
	require.Equal(t, 3, w.free())
	w.forget(p)
	require.Same(t, k, w.ResourceClaim("default", "k"))
	w.assume(p, w.allocation(p))
	require.Equal(t, 1, w.free())
	w.forget(p)
	require.Same(t, k, w.ResourceClaim("default", "k"))
}

// The special claim comes with Assume and goes with Forget, also when it has changed since.
func TestAssumeSpecial(t *testing.T) {
	w := newWorld(t, 2)
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	class.Spec.ExtendedResourceName = new("example.com/gpu")
	require.NoError(t, w.Set(class))
	p := claiming("p")
	p.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"example.com/gpu": resource.MustParse("1")}}}}
	f := w.FullFilter(tracker.Options{})
	require.False(t, f.Skips(p))
	require.True(t, f.Skips(claiming("q")))
	require.False(t, f.Skips(claiming("q", "k")))
	d := w.allocation(p)
	_, err := w.Tracker.Bound(p, devices.Allocation{Claims: d.Claims, Results: d.Results}, noon)
	require.EqualError(t, err, "nil or empty request mappings, no update of pod default/p ExtendedResourceClaimStatus")
	claims, err := w.Tracker.Bound(p, d, noon)
	require.NoError(t, err)
	require.Len(t, claims, 1)
	require.Equal(t, []string{"", "", "p-extended-resources-"}, []string{claims[0].Name, string(claims[0].UID), claims[0].GenerateName}, "the API server gives name and UID")
	for _, change := range []bool{false, true} {
		w.assume(p, d)
		made := w.ResourceClaim("default", "p-extended-resources")
		require.Equal(t, types.UID("default/p-extended-resources"), made.UID)
		require.Equal(t, []string{"p"}, w.users("p-extended-resources"))
		require.Same(t, made, w.Tracker.ExtendedResourceClaim(p))
		require.Equal(t, 1, w.free())
		require.ErrorContains(t, w.Tracker.Reserve(p, devices.Allocation{Claims: []*resourcev1.ResourceClaim{made.DeepCopy()}, Results: d.Results}), "devices are reserved already")
		if change {
			require.NoError(t, w.Set(made.DeepCopy()))
		}
		w.forget(p)
		require.Nil(t, w.ResourceClaim("default", "p-extended-resources"))
		require.Equal(t, 2, w.free())
	}
	count, allocated := f.Offered("example.com/gpu", 0)
	require.Equal(t, []int64{2, 0}, []int64{count, allocated})
	w.assume(p, d)
	count, allocated = f.Offered("example.com/gpu", 0)
	require.Equal(t, []int64{2, 1}, []int64{count, allocated})
	count, allocated = f.Offered("example.com/fpga", 0)
	require.Equal(t, []int64{0, 0}, []int64{count, allocated})
}

// A reservation holds its devices once, before and after the cluster shows the allocation, and changes the version.
func TestReservationLands(t *testing.T) {
	w := newWorld(t, 2, "k")
	p := claiming("p", "k")
	d := w.allocation(p)
	at := w.Tracker.Version()
	require.NoError(t, w.Reserve(p, d))
	require.Greater(t, w.Tracker.Version(), at)
	require.True(t, w.InFlight("k"))
	require.Equal(t, 1, w.free())
	w.setAll(p, d)
	require.Equal(t, 1, w.free())
	require.False(t, w.InFlight("k"), "the cluster shows the allocation")
	_, ok := w.Reserved(p)
	require.True(t, ok)
	fork := w.Tracker.Fork(w.Snapshot, tracker.Of(w.Snapshot))
	require.False(t, fork.InFlight("k"))
	_, ok = fork.Reserved(p)
	require.True(t, ok)
	require.NoError(t, w.Set(gpus("n3"))) // the ledger is made again
	require.Equal(t, 1, w.free())
	require.False(t, w.InFlight("k"))
	at = w.Tracker.Version()
	require.True(t, w.Unreserve(p))
	require.Greater(t, w.Tracker.Version(), at)
	require.False(t, w.Unreserve(p))
	require.Equal(t, 1, w.free())
	require.NoError(t, w.Remove(w.ResourceClaim("default", "k")))
	require.Equal(t, 2, w.free())

	unlogged := tracker.New(slots{w.Snapshot}, tracker.Of(w.Snapshot))
	require.Zero(t, unlogged.Version())
	require.Nil(t, unlogged.FullFilter(tracker.Options{}).Kept(nil), "over a cluster without a log nothing is kept")
}

// slots hides the log of a snapshot.
type slots struct{ s *cluster.Snapshot }

func (x slots) Len() int            { return x.s.Len() }
func (x slots) Node(i int) *v1.Node { return x.s.Node(i) }

// With the option Templates the claims that do not exist yet are made from their templates; Assume creates them.
func TestTemplates(t *testing.T) {
	w := newWorld(t, 2, "k")
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "one"}}
	template.Spec.Spec = gpuClaim("x").Spec
	require.NoError(t, w.Set(template))
	p := claiming("p", "k")
	p.Spec.ResourceClaims[0].Name = "shared"
	p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, v1.PodResourceClaim{Name: "own", ResourceClaimTemplateName: new("one")})
	require.Equal(t, `pod "default/p": ResourceClaim not created yet`, w.FullFilter(tracker.Options{}).Compile(p).Reason())
	f := w.FullFilter(tracker.Options{Templates: true})
	compiled := f.Compile(p)
	require.Equal(t, filter.Success, compiled.Code(), compiled.Reason())
	var names []string
	for _, c := range compiled.Claims() {
		names = append(names, c.Name)
	}
	require.Equal(t, []string{"k", "p-own-made"}, names)
	require.Len(t, w.Made(p), 1)
	require.Equal(t, "p-own-made", w.Made(p)["own"].Name)
	d := f.On(compiled).Allocation(0)
	claims, err := w.Tracker.Bound(p, d, noon)
	require.NoError(t, err)
	require.Equal(t, []string{"k", "p-own-made"}, []string{claims[0].Name, claims[1].Name})
	require.Empty(t, claims[1].UID, "the API server does not have the claim")
	w.assume(p, d)
	require.Equal(t, []string{"p"}, w.users("p-own-made"))
	require.Equal(t, 0, w.free())
	w.forget(p)
	require.Nil(t, w.ResourceClaim("default", "p-own-made"))
	require.Equal(t, 2, w.free())

	other := *p
	other.Namespace = "other"
	require.Empty(t, w.Made(&other), "the template belongs to another namespace")
	require.Contains(t, f.Compile(&other).Reason(), `could not find ResourceClaim "other/k"`)
	with := *p
	with.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "own", ResourceClaimName: new("k")}}
	require.Empty(t, w.Made(&with), "a controller has made the claim")
	none := *p
	none.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "own"}}
	require.Equal(t, filter.Success, f.Compile(&none).Code())
	require.Len(t, f.Compile(&none).Claims(), 1, "the entry needs no claim")
}

// The errors of Bound name pod and claim, and changes since the decision are noticed.
func TestBoundErrors(t *testing.T) {
	w := newWorld(t, 1, "k", "l")
	p := claiming("p", "k", "l")
	_, err := w.Tracker.Bound(p, devices.Allocation{}, noon)
	require.EqualError(t, err, "pod default/p, claim k: claim default/k got deallocated elsewhere in the meantime")
	one := claiming("p", "k")
	d := w.allocation(one)
	replaced := gpuClaim("k")
	replaced.UID = "new"
	require.NoError(t, w.Set(replaced))
	_, err = w.Tracker.Bound(one, d, noon)
	require.EqualError(t, err, "claim default/k got deleted in the meantime")
	w.setAll(one, w.allocation(one))
	claims, err := w.Tracker.Bound(one, devices.Allocation{}, noon.Add(time.Hour))
	require.NoError(t, err)
	require.Empty(t, claims, "the claim has the pod already")
}
