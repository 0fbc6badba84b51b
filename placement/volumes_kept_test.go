package placement

import (
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/filter/volume"
	"github.com/podberth/podberth/internal/plugins"
	"github.com/podberth/podberth/internal/testkit"
)

func localVolumes(t *testing.T) (*Placer, *cluster.Snapshot) {
	return placerOf(t, cluster.Objects{
		Nodes: threeZones(), StorageClasses: []*storagev1.StorageClass{storageClass("local", "kubernetes.io/no-provisioner")},
		PersistentVolumes: []*v1.PersistentVolume{disk("d1", "local", "b", "1Gi"), disk("d2", "local", "c", "1Gi")},
		Claims:            []*v1.PersistentVolumeClaim{waiting("x", "local", "1Gi"), waiting("y", "local", "1Gi"), waiting("z", "local", "1Gi")},
	})
}

// The count of volumes in use is kept while pods come and leave, and made again after a change of nodes. Everything is read once.
func TestUsageIsKept(t *testing.T) {
	p, s := localVolumes(t)
	v := p.profile.Volumes
	require.Equal(t, s.Version(), NewVolumes(s).at, "a new count reads no old changes")
	unused := newVolumeRestrictions(volume.Options{}).Filter(mounting(testkit.Pod("p").Obj(), "x"), s)
	require.Equal(t, filter.Skip, unused.Code, "no rule of the claim looks at who uses it")
	before := v.inUse()
	require.NoError(t, s.Set(mounting(testkit.Pod("p").On("a1").Obj(), "x")))
	require.Same(t, before, v.inUse())
	require.Equal(t, s.Version(), v.at)
	require.Len(t, v.users, 1)
	require.NoError(t, s.Set(&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "any"}}))
	require.Same(t, before, v.inUse(), "no plugin reads budgets")
	require.NoError(t, s.Set(testkit.Node("a1").Label("new", "").Obj()))
	require.NoError(t, s.Set(testkit.Pod("q").On("a1").Obj()))
	require.NotSame(t, before, v.inUse(), "a node has changed before a pod came")
	before = v.inUse()
	require.NoError(t, s.Set(testkit.Node("d1").Obj()))
	require.NotSame(t, before, v.inUse())
	require.Equal(t, s.Version(), v.at)
	before = v.inUse()
	require.Same(t, before, v.inUse())
	for k := range 100_000 { // more than the log holds
		q := testkit.Pod(fmt.Sprint("q", k)).On("a1").Obj()
		require.NoError(t, s.Set(q))
		require.NoError(t, s.Unset(q))
		if s.Since(v.at, func([]cluster.Event) {}) {
			continue
		}
		require.NotSame(t, before, v.inUse())
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

// VolumeObjects returns the storage objects of the snapshot.
func (c lookups) VolumeObjects() volume.Objects { return volumeObjectsOf(c.Snapshot) }

// The pods with reservations are looked up when a pod has left, and not when a pod has come or was replaced.
func TestReservationsAreLookedUp(t *testing.T) {
	_, s := localVolumes(t)
	asked := 0
	p, err := New(lookups{s, &asked, map[int]int{}}, DefaultProfile())
	require.NoError(t, err)
	v := p.profile.Volumes
	pod, other := mounting(testkit.Pod("p").Obj(), "x"), testkit.Pod("other").On("a1").Obj()
	d := p.Decide(pod, Options{})
	require.True(t, d.Placed())
	require.NoError(t, s.Assume(pod, d.Slot))
	require.NoError(t, v.assume(pod, d.Slot, d.Volumes))
	looked := func(change func() error) bool {
		before := asked
		require.NoError(t, change())
		_, ok := v.Reserved(pod)
		require.True(t, ok)
		return asked > before
	}
	require.False(t, looked(func() error { return s.Set(other) }))
	require.False(t, looked(func() error { return s.Set(testkit.Pod("other").On("a1").Image("new").Obj()) }))
	require.True(t, looked(func() error { return s.Unset(other) }))
	require.False(t, looked(func() error { return nil }))
	require.NoError(t, s.Unset(pod))
	for pv := range v.Objects().PersistentVolumes.All() {
		require.Nil(t, pv.Spec.ClaimRef, "the objects follow the snapshot")
	}
	none, ok := v.Reserved(nil)
	require.False(t, ok)
	require.True(t, none.Empty())
}

// A fork has no reservation of a pod that has left.
func TestForkFollows(t *testing.T) {
	p, s := localVolumes(t)
	pod := mounting(testkit.Pod("p").Obj(), "x")
	place(t, p, pod)
	require.NoError(t, s.Unset(pod))
	_, ok := p.profile.Volumes.fork(s.Fork()).Reserved(pod)
	require.False(t, ok)
}

// The volumes in use are counted again once for each slot that changed, however often it did.
func TestUsageIsCountedOnce(t *testing.T) {
	_, s := localVolumes(t)
	c := lookups{s, new(int), map[int]int{}}
	v := NewVolumes(c)
	v.inUse()
	clear(c.read)
	for k, n := range []string{"a1", "b1", "a1", "b1", "b1"} {
		require.NoError(t, s.Set(testkit.Pod(fmt.Sprint("p", k)).On(n).Obj()))
	}
	v.inUse()
	require.Equal(t, map[int]int{s.Slot("a1"): 1, s.Slot("b1"): 1}, c.read)
}

// A cluster with a change log need not know storage objects.
func TestChangeLogWithoutStorage(t *testing.T) {
	_, s := localVolumes(t)
	c := struct {
		Cluster
		volumeLog
	}{s, s}
	require.Zero(t, volumeObjectsOf(c))
	require.Nil(t, NewVolumes(c).objects().PersistentVolumes)
}

// A reservation ends when the pod has left the snapshot, also when the log no longer says so.
func TestReservationsEndBehindTheLog(t *testing.T) {
	p, s := localVolumes(t)
	v := p.profile.Volumes
	pod := mounting(testkit.Pod("p").Obj(), "x")
	place(t, p, pod)
	_, reserved := v.Reserved(pod)
	require.True(t, reserved)
	require.NoError(t, s.Set(testkit.Pod("other").On("a1").Obj()))
	require.NoError(t, s.Unset(testkit.Pod("other").On("a1").Obj()))
	_, reserved = v.Reserved(pod)
	require.True(t, reserved, "another pod has left")
	at := v.at
	require.NoError(t, s.Unset(s.Pod("default", "p")))
	for k := 0; s.Since(at, func([]cluster.Event) {}); k++ {
		require.Less(t, k, 100_000)
		require.NoError(t, s.Set(testkit.Pod(fmt.Sprint("q", k)).On("a1").Obj()))
	}
	_, reserved = v.Reserved(pod)
	require.False(t, reserved)
	require.Empty(t, v.assumed)
}

// The volumes of a class are found by an index that follows the cluster.
func TestVolumesByClass(t *testing.T) {
	p, s := localVolumes(t)
	of := func(class string) (names []string) {
		table, ok := p.profile.Volumes.objects().PersistentVolumes.(byClass)
		require.True(t, ok)
		for pv := range table.OfClass(class) {
			names = append(names, pv.Name)
		}
		var candidates []string
		for pv := range table.CandidatesFor(class, "default", "x") {
			candidates = append(candidates, pv.Name)
		}
		require.Equal(t, names, candidates)
		return names
	}
	require.Equal(t, []string{"d1", "d2"}, of("local"))
	require.Empty(t, of("fast"))
	require.NoError(t, s.Set(disk("d0", "local", "a", "1Gi")))
	require.NoError(t, s.Set(disk("d3", "fast", "a", "1Gi")))
	require.Equal(t, []string{"d0", "d1", "d2"}, of("local"))
	require.Equal(t, []string{"d3"}, of("fast"))

	for name, claim := range map[string]string{"dx": "x", "dy": "y"} {
		pv := disk(name, "kept", "a", "1Gi")
		pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: claim}
		require.NoError(t, s.Set(pv))
	}
	candidates := func(claim string) (names []string) {
		for pv := range p.profile.Volumes.objects().PersistentVolumes.(byClass).CandidatesFor("kept", "default", claim) {
			names = append(names, pv.Name)
		}
		return names
	}
	require.Equal(t, []string{"dx"}, candidates("x"))
	require.Equal(t, []string{"dy"}, candidates("y"))
	require.Empty(t, candidates("default"))
}

// A pod whose claims must be asked about by themselves shares nothing with a pod without claims, whatever other plugins there are.
func TestClaimsShareNothingWithPlainPods(t *testing.T) {
	for _, name := range []string{plugins.VolumeBinding, plugins.VolumeZone} {
		_, s := localVolumes(t)
		all := DefaultProfile()
		p, err := New(s, Profile{Filters: []*Plugin{all.Filter(name)}, Scores: all.Scores})
		require.NoError(t, err)
		plain, claiming := testkit.Pod("plain").Obj(), mounting(testkit.Pod("claiming").Obj(), "x")
		missing := mounting(testkit.Pod("missing").Obj(), "none")
		for range 4 {
			require.Equal(t, "a1", p.Decide(plain, Options{}).Node)
			if name == plugins.VolumeBinding {
				require.Equal(t, "b1", p.Decide(claiming, Options{}).Node)
			}
			require.False(t, p.Decide(missing, Options{}).Placed())
		}
	}
}
