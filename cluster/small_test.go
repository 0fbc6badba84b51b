package cluster

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/resources"
)

// Forks that add pods with one label each see their own pods by the label, not those of the other.
func TestForksHaveTheirOwnIndex(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	label := func(k int) *v1.Pod {
		return testkit.Pod(fmt.Sprint("p", k)).Labels(fmt.Sprintf("app=web,n=%d", k)).On("a").Obj()
	}
	for k := range 5 { // the list has room for more
		require.NoError(t, s.Set(label(k)))
	}
	forks := []*Snapshot{s.Fork(), s.Fork()}
	require.NoError(t, forks[1].Set(testkit.Pod("other/p").On("a").Obj())) // so that the next set has another number than in the first fork
	for k, f := range forks {
		require.NoError(t, f.Set(label(10+k)))
	}
	for k, f := range append(forks, s) {
		var ns []string
		f.PodSets("default", "app", "web", func(id int32) {
			rep, _, _ := f.PodSet(id)
			ns = append(ns, rep.Labels["n"])
		})
		want := []string{"0", "1", "2", "3", "4"}
		if k < 2 {
			want = append(want, fmt.Sprint(10+k))
		}
		require.ElementsMatch(t, want, ns)
	}
}

// A sweep in a fork frees ids of the fork alone, and an id that is free already is not freed again.
func TestSweepsOfForks(t *testing.T) {
	var g groups
	first := new(owner)
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		g.intern(first, []byte(key), nil)
	}
	g.sweep(first)
	used, idle := g.intern(first, []byte("f"), nil), g.intern(first, []byte("g"), nil)
	require.Equal(t, []int32{4, 3, 2}, g.free)
	sweep := func(keeps int32) groups {
		fork, own := g, new(owner)
		fork.add(own, keeps, 0, nil)
		fork.sweep(own)
		fork.sweep(own)
		return fork
	}
	one, other := sweep(used), sweep(idle)
	require.Equal(t, []int32{4, 3, 2, idle}, one.free)
	require.Equal(t, []int32{4, 3, 2, used}, other.free)
}

// A node offers what is allocatable, not its capacity.
func TestAllocatableCounts(t *testing.T) {
	n := testkit.Node("a").Capacity("cpu=3,example.com/x=1").Obj()
	n.Status.Capacity = testkit.Node("a").Capacity("cpu=4,example.com/x=2").Obj().Status.Allocatable
	s := mustNew(t, Objects{Nodes: []*v1.Node{n}})
	require.Equal(t, resources.FromList(s.Schema(), n.Status.Allocatable), s.Allocatable(0))
}

// A snapshot and its fork log their own events from the common number on, in the block that they shared too.
func TestForksDoNotShareEvents(t *testing.T) {
	for _, before := range []int{0, 1, 254, 255, 256, 257} {
		s := mustNew(t, Objects{Nodes: two()})
		for s.Version() < uint64(before) {
			require.NoError(t, s.Set(testkit.Node("a").Obj()))
		}
		f := s.Fork()
		from := s.Version()
		for k := range 300 {
			require.NoError(t, s.Set(testkit.Node("a").Label("k", fmt.Sprint(k)).Obj()))
			require.NoError(t, f.Set(testkit.Node("b").Label("k", fmt.Sprint(k)).Obj()))
		}
		for _, c := range []struct {
			s    *Snapshot
			slot int32
		}{{s, 0}, {f, 1}} {
			n := 0
			require.True(t, c.s.Since(from, func(list []Event) {
				for _, e := range list {
					require.Equal(t, c.slot, e.Node)
					n++
				}
			}))
			require.Equal(t, 300, n)
		}
	}
}

// A fork that learns a resource name keeps the name for itself.
func TestForksHaveTheirOwnColumns(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	f, known := s.Fork(), s.Schema()
	require.NoError(t, f.Set(testkit.Node("a").Capacity("cpu=1").Obj()))
	require.Same(t, known, f.Schema(), "nothing new")
	require.NoError(t, f.Set(testkit.Node("a").Capacity("cpu=1,example.com/x=2").Obj()))
	_, ok := s.Schema().Column("example.com/x")
	require.False(t, ok)
	at, ok := f.Schema().Column("example.com/x")
	require.True(t, ok)
	require.Equal(t, int64(2), f.Allocatable(0).At(at))
	g := s.Fork()
	require.NoError(t, g.Assume(testkit.Pod("p").Request("example.com/y=1").Obj(), 0))
	_, ok = s.Schema().Column("example.com/y")
	require.False(t, ok)
}

// What a pod counts with in a fork does not count in the snapshot, which may give the same id to another set.
func TestInfoOfAFork(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	f := s.Fork()
	info := f.prepare(testkit.Pod("p").Labels("app=new").Obj())
	require.False(t, s.valid(info))
	require.True(t, f.valid(info))
	s.prepare(testkit.Pod("q").Labels("app=other").Obj())
	require.False(t, s.valid(info))

	s.prepare(testkit.Pod("r").Labels("app=both").Obj())
	f = s.Fork()
	info = f.prepare(testkit.Pod("r").Labels("app=both").RequireApart("k", "app=both").Obj())
	require.True(t, f.valid(info))
	require.False(t, s.valid(info), "the snapshot has the set, but not the terms")
}

// A set keeps infos of a limited number of kinds of pods.
func TestKindsOfASet(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	for k := range sharedInfos + 3 {
		pod := testkit.Pod("p").Request(fmt.Sprintf("cpu=%d", 1+k)).Obj()
		first, again := s.prepare(pod), s.prepare(pod)
		require.Equal(t, k < sharedInfos, first == again, "kind %d", k)
	}
}

// Sets with pods are never swept, however many there are, and after a sweep labels find what they found before.
func TestSweepsKeepWhatIsInUse(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	p := func(k int) *v1.Pod {
		return testkit.Pod(fmt.Sprint("p", k)).Labels(fmt.Sprintf("app=a%d,all=x", k)).Obj()
	}
	for k := range 2*sweepAt + 1 {
		require.NoError(t, s.Assume(p(k), k%2))
	}
	version := s.Version()
	started := func() (n int) {
		require.True(t, s.Since(version, func(list []Event) {
			for _, e := range list {
				if e.Node == -1 {
					n++
				}
			}
		}))
		return n
	}
	for k := range sweepAt {
		require.NoError(t, s.Remove(p(k)))
	}
	for k := range sweepAt - 1 {
		idle := testkit.Pod("idle").Labels(fmt.Sprintf("app=idle%d", k)).Obj()
		require.NoError(t, s.Assume(idle, 0))
		require.NoError(t, s.Remove(idle))
	}
	require.Equal(t, 1, started(), "as many idle sets as sets in use: once")
	found := func(key, value string) (sets int) {
		s.PodSets("default", key, value, func(id int32) {
			if rep, nodes, _ := s.PodSet(id); len(nodes) > 0 {
				require.Equal(t, value, rep.Labels[key])
				sets++
			}
		})
		return sets
	}
	for _, k := range []int{0, sweepAt - 1, sweepAt, 2 * sweepAt} {
		want := 0
		if k >= sweepAt {
			want = 1
		}
		require.Equal(t, want, found("app", fmt.Sprintf("a%d", k)))
	}
	require.Equal(t, sweepAt+1, found("all", "x"))
	ids := 0
	s.PodSets("default", "all", "x", func(int32) { ids++ })
	require.Equal(t, sweepAt+1, ids, "swept sets are not listed")
}

// Nothing is recorded while no mark is open.
func TestUndoIsForgotten(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	change := func() { require.NoError(t, s.Set(testkit.Node("a").Obj())) }
	outer, inner := s.Mark(), s.Mark()
	change()
	require.True(t, s.Commit(inner))
	require.NotEmpty(t, s.undo, "the outer mark can undo it")
	require.True(t, s.Commit(outer))
	require.Empty(t, s.undo)
	change()
	require.Empty(t, s.undo)
	outer, inner = s.Mark(), s.Mark()
	change()
	require.True(t, s.Rollback(inner))
	change()
	require.NotEmpty(t, s.undo)
	require.True(t, s.Rollback(outer))
	change()
	require.Empty(t, s.undo)
}

// Objects are listed by namespace and name, and a reader may stop.
func TestOrderOfObjects(t *testing.T) {
	s := mustNew(t, Objects{})
	for _, k := range []int{5, 3, 9, 1, 7, 0, 8} {
		require.NoError(t, s.Set(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", k)}}))
		require.NoError(t, s.Set(&resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprint("n", k%2), Name: fmt.Sprint("c", k)}}))
	}
	var names []string
	for name := range s.Namespaces() {
		names = append(names, name)
		if name == "n7" {
			break
		}
	}
	require.Equal(t, []string{"n0", "n1", "n3", "n5", "n7"}, names)
	names = nil
	for c := range List[*resourcev1.ResourceClaim](s).All() {
		names = append(names, c.Namespace+"/"+c.Name)
	}
	require.Equal(t, []string{"n0/c0", "n0/c8", "n1/c1", "n1/c3", "n1/c5", "n1/c7", "n1/c9"}, names)
	for _, name := range names {
		c, ok := List[*resourcev1.ResourceClaim](s).Get(name[:2], name[3:])
		require.True(t, ok)
		require.NoError(t, s.Remove(c))
	}
	require.Empty(t, slices.Collect(List[*resourcev1.ResourceClaim](s).All()))
}

// An index is made once, and the scan order is another slice only after a change of nodes.
func TestAnswersAreKept(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	a, _, _ := s.Classes([]string{"name"})
	_, _, _ = s.Classes([]string{"taints"})
	b, _, _ := s.Classes([]string{"name"})
	require.Same(t, &a[0], &b[0])
	require.Len(t, s.indexes, 2)
	order := s.Order()
	require.NoError(t, s.Assume(testkit.Pod("p").Obj(), 0))
	require.Same(t, &order[0], &s.Order()[0])
	require.NoError(t, s.Set(testkit.Node("c").Obj()))
	require.NotSame(t, &order[0], &s.Order()[0])
}

// Pods that ask for the same may still score differently: memory=0 is a request, and no request counts as 200Mi.
func TestUpdateOfWhatScores(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	for _, c := range []struct {
		request     string
		cpu, memory int64
	}{{"cpu=100m,memory=0", 100, 0}, {"cpu=100m", 100, 200 << 20}, {"memory=0", 100, 0}, {"cpu=0,memory=0", 0, 0}} {
		require.NoError(t, s.Set(testkit.Pod("p").Request(c.request).On("a").Obj()))
		cpu, memory := s.NonZero(0)
		require.Equal(t, [2]int64{c.cpu, c.memory}, [2]int64{cpu, memory}, c.request)
	}
}

// Pods that count the same have one kind, and a pod that is on no node has none.
func TestPodKind(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	a, b, c := testkit.Pod("a").Labels("x=1").On("a").Obj(), testkit.Pod("b").Labels("x=1").On("b").Obj(), testkit.Pod("c").Labels("x=1").Request("cpu=1").On("a").Obj()
	for _, p := range []*v1.Pod{a, b, c} {
		require.NoError(t, s.Set(p))
	}
	kind, terms := s.PodKind(a)
	require.NotNil(t, kind)
	require.Equal(t, int32(-1), terms)
	same, _ := s.PodKind(b)
	require.Equal(t, kind, same)
	other, _ := s.PodKind(c)
	require.NotEqual(t, kind, other)
	for _, p := range []*v1.Pod{nil, a.DeepCopy(), testkit.Pod("none").Obj()} {
		kind, terms := s.PodKind(p)
		require.Nil(t, kind)
		require.Equal(t, int32(-1), terms)
		_, ok := s.PodRequests(p)
		require.False(t, ok)
	}
}

// Every kind of object can be set, found, replaced and unset.
func TestEveryKind(t *testing.T) {
	s := mustNew(t, Objects{})
	m := metav1.ObjectMeta{Namespace: "x", Name: "o"}
	holds(t, s, &v1.Service{ObjectMeta: m})
	holds(t, s, &v1.Namespace{ObjectMeta: m})
	holds(t, s, &v1.PersistentVolumeClaim{ObjectMeta: m})
	holds(t, s, &v1.PersistentVolume{ObjectMeta: m})
	holds(t, s, &v1.ReplicationController{ObjectMeta: m})
	holds(t, s, &appsv1.ReplicaSet{ObjectMeta: m})
	holds(t, s, &appsv1.StatefulSet{ObjectMeta: m})
	holds(t, s, &storagev1.StorageClass{ObjectMeta: m})
	holds(t, s, &storagev1.CSINode{ObjectMeta: m})
	holds(t, s, &storagev1.CSIDriver{ObjectMeta: m})
	holds(t, s, &storagev1.CSIStorageCapacity{ObjectMeta: m})
	holds(t, s, &storagev1.VolumeAttachment{ObjectMeta: m})
	holds(t, s, &policyv1.PodDisruptionBudget{ObjectMeta: m})
	holds(t, s, &schedulingv1.PriorityClass{ObjectMeta: m})
	holds(t, s, &resourcev1.ResourceClaim{ObjectMeta: m})
	holds(t, s, &resourcev1.ResourceClaimTemplate{ObjectMeta: m})
	holds(t, s, &resourcev1.ResourceSlice{ObjectMeta: m})
	holds(t, s, &resourcev1.DeviceClass{ObjectMeta: m})
	holds(t, s, &resourcev1beta2.DeviceTaintRule{ObjectMeta: m})
}

func holds[T interface {
	metav1.Object
	comparable
}](t *testing.T, s *Snapshot, obj T) {
	require.NoError(t, s.Set(obj))
	got, ok := List[T](s).Get("x", "o")
	require.True(t, ok, "%T", obj)
	require.Equal(t, obj, got)
	require.Equal(t, []T{obj}, slices.Collect(List[T](s).In("x")))
	mark := s.Mark()
	require.NoError(t, s.Remove(obj))
	require.Zero(t, count[T](s))
	require.Error(t, s.Remove(obj), "it is gone")
	require.True(t, s.Rollback(mark))
	require.Equal(t, 1, count[T](s))
}

// A sidecar holds its host port while the pod runs, a plain init container does not, and port 0 is no host port.
func TestPortsOfSidecars(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	always := v1.ContainerRestartPolicyAlways
	for name, c := range map[string]v1.Container{"init": {}, "sidecar": {RestartPolicy: &always}} {
		p := testkit.Pod(name).On("a").Obj()
		c.Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
		p.Spec.InitContainers = []v1.Container{c}
		require.NoError(t, s.Set(p))
	}
	require.NoError(t, s.Set(testkit.Pod("zero").HostPort("", v1.ProtocolTCP, 0).On("a").Obj()))
	require.Equal(t, []*v1.Pod{s.Pod("default", "sidecar")}, s.PortPods(0))
	require.Empty(t, s.PortPods(1))
}

// Remove takes a pod by its name. The UIDs must agree where both are known.
func TestUnsetByUID(t *testing.T) {
	for _, c := range []struct {
		have, asked types.UID
		want        bool
	}{{"a", "a", true}, {"a", "b", false}, {"a", "", true}, {"", "b", true}, {"", "", true}} {
		for _, node := range []string{"a", "elsewhere"} {
			pod := testkit.Pod("p").On(node).Obj()
			pod.UID = c.have
			s := mustNew(t, Objects{Nodes: two(), Pods: []*v1.Pod{pod}})
			asked := testkit.Pod("p").Obj()
			asked.UID = c.asked
			err := s.Remove(asked)
			require.Equal(t, c.want, err == nil, "%v: %v", c, err)
			require.Equal(t, c.want, s.Pod("default", "p") == nil && len(s.Orphans()) == 0)
		}
	}
}

// Every change of an object has one event in the log, also of a kind that no filter reads.
func TestEventsOfObjectsThatNobodyReads(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	for k, object := range []metav1.Object{
		&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}}, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}},
	} {
		before := s.Version()
		require.NoError(t, s.Set(object))
		require.Equal(t, before+1, s.Version(), "%d came", k)
		require.True(t, s.Since(before, func(events []Event) {
			require.Len(t, events, 1)
			require.Equal(t, int32(view.Unread), events[0].Node)
		}))
		require.NoError(t, s.Remove(object))
		require.Equal(t, before+2, s.Version(), "%d left", k)
	}
}

// A slot whose pods and node are gone is empty for the next node. Slots at the ends of the table hold pods as others do.
func TestSlotsAtTheEnds(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two(), Pods: []*v1.Pod{testkit.Pod("p").Request("cpu=1,memory=1Gi,example.com/gpu=1").On("b").Obj()}})
	require.Error(t, s.Assume(testkit.Pod("q").Obj(), -1))
	require.Error(t, s.Assume(testkit.Pod("q").Obj(), s.Len()))
	require.Error(t, s.Assume(testkit.Pod("q").Obj(), s.Len()+1))
	require.Error(t, mustNew(t, Objects{}).Assume(testkit.Pod("q").Obj(), 0), "no slot at all")
	require.NoError(t, s.Assume(testkit.Pod("q").Request("cpu=2").Obj(), s.Len()-1))
	b := s.Node(s.Len() - 1)
	require.NoError(t, s.Remove(testkit.Pod("q").Obj()))
	require.NoError(t, s.Remove(testkit.Pod("p").Obj()))
	require.NoError(t, s.Remove(b))
	require.NoError(t, s.Set(testkit.Node("c").Capacity("cpu=1").Obj()))
	i := s.Slot("c")
	for k := range s.Schema().Len() {
		require.Zero(t, s.Requested(i).At(k), "column %d", k)
	}
	cpu, memory := s.NonZero(i)
	require.Zero(t, cpu)
	require.Zero(t, memory)
}

// A pod with a required or a preferred term of affinity or of anti-affinity is in a term set, and no other pod is.
func TestPodsWithTerms(t *testing.T) {
	for which := range 16 {
		pod := testkit.Pod("p").On("a").Obj()
		with, apart := &v1.PodAffinity{}, &v1.PodAntiAffinity{}
		term := v1.PodAffinityTerm{TopologyKey: "k"}
		for k, add := range []func(){
			func() { with.RequiredDuringSchedulingIgnoredDuringExecution = []v1.PodAffinityTerm{term} },
			func() {
				with.PreferredDuringSchedulingIgnoredDuringExecution = []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term}}
			},
			func() { apart.RequiredDuringSchedulingIgnoredDuringExecution = []v1.PodAffinityTerm{term} },
			func() {
				apart.PreferredDuringSchedulingIgnoredDuringExecution = []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term}}
			},
		} {
			if which>>k&1 == 1 {
				add()
			}
		}
		for _, a := range []*v1.Affinity{{PodAffinity: with, PodAntiAffinity: apart}, {PodAffinity: with}, {PodAntiAffinity: apart}, {}} {
			pod.Spec.Affinity = a
			want := int32(-1)
			if a.PodAffinity != nil && which&3 > 0 || a.PodAntiAffinity != nil && which&12 > 0 {
				want = 0
			}
			_, terms := mustNew(t, Objects{Nodes: two(), Pods: []*v1.Pod{pod}}).PodKind(pod)
			require.Equal(t, want, terms, "terms %04b of %v", which, a)
		}
	}
}
