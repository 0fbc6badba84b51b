package tracker

import (
	"fmt"
	"iter"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/volumes"
)

// The count of volumes in use is kept while pods come and leave, and made again after a change of nodes. Everything is read once.
func TestUsageIsKept(t *testing.T) {
	s := localVolumes(t)
	k := New(s, Of(s))
	require.Equal(t, s.Version(), k.cursor.Version, "a new count reads no old changes")
	before := k.Usage()
	require.NoError(t, s.Set(mounting(testkit.Pod("p").On("a1").Obj(), "x")))
	require.Same(t, before, k.Usage())
	require.Equal(t, s.Version(), k.cursor.Version)
	require.Len(t, k.users, 1)
	require.NoError(t, s.Set(&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "any"}}))
	require.Same(t, before, k.Usage(), "no plugin reads budgets")
	require.NoError(t, s.Set(testkit.Node("a1").Label("new", "").Obj()))
	require.NoError(t, s.Set(testkit.Pod("q").On("a1").Obj()))
	require.NotSame(t, before, k.Usage(), "a node has changed before a pod came")
	before = k.Usage()
	require.NoError(t, s.Set(testkit.Node("d1").Obj()))
	require.NotSame(t, before, k.Usage())
	require.Equal(t, s.Version(), k.cursor.Version)
	before = k.Usage()
	require.Same(t, before, k.Usage())
	require.Zero(t, testing.AllocsPerRun(10, func() { k.Usage() }), "what is up to date asks for no memory")
	for n := range 100_000 { // more than the log holds
		q := testkit.Pod(fmt.Sprint("q", n)).On("a1").Obj()
		require.NoError(t, s.Set(q))
		require.NoError(t, s.Remove(q))
		if s.Since(k.cursor.Version, func([]cluster.Event) {}) {
			continue
		}
		require.NotSame(t, before, k.Usage())
		return
	}
	require.Fail(t, "the log reaches back to its beginning")
}

// lookups is a snapshot that counts how often it is asked for a pod, and for the pods of a slot.
type lookups struct {
	*cluster.Snapshot
	asked *int
	read  map[int]int // by slot: how often its pods were read
}

func (c lookups) Pod(namespace, name string) *v1.Pod {
	*c.asked++
	return c.Snapshot.Pod(namespace, name)
}

func (c lookups) Pods(i int) iter.Seq[*v1.Pod] {
	c.read[i]++
	return c.Snapshot.Pods(i)
}

// The pods with reservations are looked up when a pod has left, and not when a pod has come or was replaced.
func TestReservationsAreLookedUp(t *testing.T) {
	s := localVolumes(t)
	asked := 0
	k := New(lookups{s, &asked, map[int]int{}}, Of(s))
	pod, other := mounting(testkit.Pod("p").Obj(), "x"), testkit.Pod("other").On("a1").Obj()
	assume(t, k, s, pod, "b1")
	looked := func(change func() error) bool {
		before := asked
		require.NoError(t, change())
		_, ok := k.Reserved(pod)
		require.True(t, ok)
		return asked > before
	}
	require.False(t, looked(func() error { return s.Set(other) }))
	require.False(t, looked(func() error { return s.Set(testkit.Pod("other").On("a1").Image("new").Obj()) }))
	require.True(t, looked(func() error { return s.Remove(other) }))
	require.False(t, looked(func() error { return nil }))
	require.NoError(t, s.Remove(pod))
	for pv := range k.Objects().PersistentVolumes.All() {
		require.Nil(t, pv.Spec.ClaimRef, "the objects follow the snapshot")
	}
	none, ok := k.Reserved(nil)
	require.False(t, ok)
	require.True(t, none.Empty())
}

// A fork has the reservations of its origin, and none of a pod that has left.
func TestForkFollows(t *testing.T) {
	s := localVolumes(t)
	k := New(s, Of(s))
	pod := mounting(testkit.Pod("p").Obj(), "x")
	assume(t, k, s, pod, "b1")
	fork := s.Fork()
	f := k.Fork(fork, Of(fork))
	_, ok := f.Reserved(pod)
	require.True(t, ok)
	require.True(t, f.Unreserve(pod))
	_, ok = k.Reserved(pod)
	require.True(t, ok, "the origin keeps its own")

	require.NoError(t, s.Remove(pod))
	fork = s.Fork()
	_, ok = k.Fork(fork, Of(fork)).Reserved(pod)
	require.False(t, ok)
}

// The volumes in use are counted again once for each slot that changed, however often it did.
func TestUsageIsCountedOnce(t *testing.T) {
	s := localVolumes(t)
	c := lookups{s, new(int), map[int]int{}}
	k := New(c, Of(s))
	k.Usage()
	clear(c.read)
	for n, node := range []string{"a1", "b1", "a1", "b1", "b1"} {
		require.NoError(t, s.Set(testkit.Pod(fmt.Sprint("p", n)).On(node).Obj()))
	}
	k.Usage()
	require.Equal(t, map[int]int{s.Slot("a1"): 1, s.Slot("b1"): 1}, c.read)
}

// A cluster with a change log need not know storage objects.
func TestChangeLogWithoutStorage(t *testing.T) {
	s := localVolumes(t)
	k := New(s, volumes.Objects{})
	require.NotNil(t, k.log)
	require.Zero(t, k.indexed(volumes.Objects{}))
	pod := mounting(testkit.Pod("p").Obj(), "x")
	require.Equal(t, filter.UnschedulableAndUnresolvable, volumes.Compile(pod, k.Objects(), volumes.Options{}).Binding().PreFilter().Code)
}

// The pods of a cluster without a change log are counted at each question.
func TestUsageWithoutALog(t *testing.T) {
	s := localVolumes(t)
	k := New(struct{ filter.Cluster }{s}, Of(s))
	require.Nil(t, k.log)
	require.NotSame(t, k.Usage(), k.Usage())
}

// A reservation ends when the pod has left the snapshot, also when the log no longer says so.
func TestReservationsEndBehindTheLog(t *testing.T) {
	s := localVolumes(t)
	k := New(s, Of(s))
	pod := mounting(testkit.Pod("p").Obj(), "x")
	assume(t, k, s, pod, "b1")
	_, reserved := k.Reserved(pod)
	require.True(t, reserved)
	require.NoError(t, s.Set(testkit.Pod("other").On("a1").Obj()))
	require.NoError(t, s.Remove(testkit.Pod("other").On("a1").Obj()))
	_, reserved = k.Reserved(pod)
	require.True(t, reserved, "another pod has left")
	at := k.cursor.Version
	require.NoError(t, s.Remove(s.Pod("default", "p")))
	for n := 0; s.Since(at, func([]cluster.Event) {}); n++ {
		require.Less(t, n, 100_000)
		require.NoError(t, s.Set(testkit.Pod(fmt.Sprint("q", n)).On("a1").Obj()))
	}
	_, reserved = k.Reserved(pod)
	require.False(t, reserved)
	require.Empty(t, k.assumed)
}

// The volumes of a class are found by an index that follows the cluster.
func TestVolumesByClass(t *testing.T) {
	s := localVolumes(t)
	table, ok := New(s, Of(s)).indexed(Of(s)).PersistentVolumes.(byClass)
	require.True(t, ok)
	names := func(list iter.Seq[*v1.PersistentVolume]) (out []string) {
		for pv := range list {
			out = append(out, pv.Name)
		}
		return out
	}
	of := func(class string) []string {
		found := names(table.OfClass(class))
		require.Equal(t, found, names(table.CandidatesFor(class, "default", "x")))
		return found
	}
	require.Equal(t, []string{"d1", "d2"}, of("local"))
	require.Empty(t, of("fast"))
	require.NoError(t, s.Set(disk("d0", "local", "a")))
	require.NoError(t, s.Set(disk("d3", "fast", "a")))
	require.Equal(t, []string{"d0", "d1", "d2"}, of("local"))
	require.Equal(t, []string{"d3"}, of("fast"))

	for name, claim := range map[string]string{"dx": "x", "dy": "y"} {
		pv := disk(name, "kept", "a")
		pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: claim}
		require.NoError(t, s.Set(pv))
	}
	candidates := func(claim string) []string { return names(table.CandidatesFor("kept", "default", claim)) }
	require.Equal(t, []string{"dx"}, candidates("x"))
	require.Equal(t, []string{"dy"}, candidates("y"))
	require.Empty(t, candidates("default"))
}

// Of has every kind of storage object of a snapshot.
func TestOfHasAllKinds(t *testing.T) {
	s, err := cluster.New(cluster.Objects{CSIStorageCapacities: []*storagev1.CSIStorageCapacity{{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: "c"}}}})
	require.NoError(t, err)
	o := reflect.ValueOf(Of(s))
	for k := range o.NumField() {
		if f := o.Field(k); f.CanInterface() {
			require.False(t, f.IsNil(), o.Type().Field(k).Name)
		}
	}
	_, ok := Of(s).CSIStorageCapacities.Get("d", "c")
	require.True(t, ok)
}
