package cluster

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

func mustNew(t testing.TB, o Objects) *Snapshot {
	t.Helper()
	s, err := New(o)
	require.NoError(t, err)
	return s
}

func two() []*v1.Node {
	return []*v1.Node{
		testkit.Node("a").Zone("z1").Capacity("cpu=4,memory=8Gi").Obj(),
		testkit.Node("b").Zone("z2").Capacity("cpu=4,memory=8Gi").Obj(),
	}
}

func TestNewErrors(t *testing.T) {
	n, p := testkit.Node("n").Obj(), testkit.Pod("ns/p").Obj()
	for _, c := range []struct {
		name, reason string
		objects      Objects
		want         string
	}{
		{"two nodes of one name", "names are identities", Objects{Nodes: []*v1.Node{n, n}}, `nodes[1].metadata.name: Duplicate value: "n"`},
		{"nameless node", "", Objects{Nodes: []*v1.Node{{}}}, `nodes[0].metadata.name: Required value: a node needs a name`},
		{"nil node", "", Objects{Nodes: []*v1.Node{nil}}, `nodes[0]: Required value: a nil node`},
		{"two pods of one name", "also when neither is on a node", Objects{Pods: []*v1.Pod{p, p}}, `pods[1].metadata.name: Duplicate value: "ns/p"`},
		{"assigned and pending pod of one name", "wherever they are", Objects{
			Nodes: []*v1.Node{n}, Pods: []*v1.Pod{testkit.Pod("ns/p").On("n").Obj(), p},
		}, `pods[1].metadata.name: Duplicate value: "ns/p"`},
		{"pending and assigned pod of one name", "in the other order", Objects{
			Nodes: []*v1.Node{n}, Pods: []*v1.Pod{p, testkit.Pod("ns/p").On("n").Obj()},
		}, `pods[1].metadata.name: Duplicate value: "ns/p"`},
		{"nameless pod", "", Objects{Pods: []*v1.Pod{{}}}, `pods[0].metadata.name: Required value: a pod needs a name`},
		{"nil pod", "", Objects{Pods: []*v1.Pod{nil}}, `pods[0]: Required value: a nil pod`},
		{"two services of one name", "of one namespace", Objects{Services: []*v1.Service{
			{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "s"}}, {ObjectMeta: metav1.ObjectMeta{Namespace: "y", Name: "s"}},
			{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "s"}},
		}}, `services[2].metadata.name: Duplicate value: "x/s"`},
		{"nil class", "", Objects{StorageClasses: []*storagev1.StorageClass{nil}}, `storageClasses[0]: Required value: a nil object`},
		{"nameless claim", "", Objects{Claims: []*v1.PersistentVolumeClaim{{}}}, `claims[0].metadata.name: Required value: an object needs a name`},
		{"several errors", "all are told", Objects{Nodes: []*v1.Node{n, n}, Pods: []*v1.Pod{nil}},
			`[nodes[1].metadata.name: Duplicate value: "n", pods[0]: Required value: a nil pod]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := New(c.objects)
			require.Nil(t, s)
			require.EqualError(t, err, c.want, c.reason)
		})
	}
}

func TestWhereNewPutsPods(t *testing.T) {
	phase := func(name string, p v1.PodPhase) *v1.Pod {
		pod := testkit.Pod(name).Request("cpu=1").On("a").Obj()
		pod.Status.Phase = p
		return pod
	}
	s := mustNew(t, Objects{Nodes: two(), Pods: []*v1.Pod{
		phase("running", v1.PodRunning), phase("no phase", ""), phase("pending", v1.PodPending),
		phase("ended", v1.PodSucceeded), phase("failed", v1.PodFailed),
		testkit.Pod("leaving").Request("cpu=1").On("a").Terminating().Obj(),
		testkit.Pod("lost").On("gone").Obj(), testkit.Pod("waiting").Obj(),
	}})
	var names []string
	for p := range s.Pods(0) {
		names = append(names, p.Name)
	}
	require.Equal(t, []string{"running", "no phase", "pending", "leaving"}, names)
	require.Equal(t, resources.Vector{4000, 0, 0, 4}, s.Requested(0))
	require.Equal(t, 0, s.PodCount(1))
	require.Len(t, s.Orphans(), 1)
	require.Equal(t, "lost", s.Orphans()[0].Name)
	require.Equal(t, -1, s.PodSlot("default", "lost"), "an orphan is on no slot")
	require.Nil(t, s.Pod("default", "waiting"))
	require.Nil(t, s.PodInfo("default", "waiting"))
}

func TestOperationErrors(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two(), Pods: []*v1.Pod{testkit.Pod("p").On("a").Obj(), testkit.Pod("lost").On("gone").Obj()}})
	require.NoError(t, s.RemoveNode("b"))
	version := s.Version()
	other := testkit.Pod("p").Obj()
	other.UID = "other"
	ended := testkit.Pod("ended").Obj()
	ended.Status.Phase = v1.PodFailed
	_, addErr := s.AddNode(two()[0])
	_, nilErr := s.AddNode(nil)
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"assume on a free slot", s.Assume(testkit.Pod("q").Obj(), 1), "pod default/q: slot 1 has no node (slots run from 0 to 1)"},
		{"assume past the end", s.Assume(testkit.Pod("q").Obj(), 2), "pod default/q: slot 2 has no node (slots run from 0 to 1)"},
		{"assume below zero", s.Assume(testkit.Pod("q").Obj(), -1), "pod default/q: slot -1 has no node (slots run from 0 to 1)"},
		{"assume twice", s.Assume(testkit.Pod("p").Obj(), 0), `pod default/p: is on node "a" already`},
		{"assume an orphan", s.Assume(testkit.Pod("lost").Obj(), 0), "pod default/lost: is on a node that is not in the snapshot"},
		{"assume an ended pod", s.Assume(ended, 0), `pod default/ended: status.phase: Invalid value: "Failed": a pod that has ended holds nothing on a node`},
		{"forget what is not there", s.Forget(testkit.Pod("q").Obj()), "pod default/q: is on no node of the snapshot"},
		{"forget an orphan", s.Forget(testkit.Pod("lost").Obj()), "pod default/lost: is on no node of the snapshot"},
		{"remove what is not there", s.Remove(testkit.Pod("q").Obj()), "pod default/q: not found"},
		{"remove another incarnation", s.Remove(other), `pod default/p: metadata.uid: Invalid value: "other": the pod that is here has uid "uid-default-p"`},
		{"update without a name", s.Update(&v1.Pod{}), "metadata.name: Required value: a pod needs a name"},
		{"add a node twice", addErr, `node "a": is in the snapshot already`},
		{"add no node", nilErr, "metadata.name: Required value: a node needs a name"},
		{"update an unknown node", s.UpdateNode(two()[1]), `node "b": not found`},
		{"remove an unknown node", s.RemoveNode("b"), `node "b": not found`},
		{"set a kind that is not held", s.Set(&v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}), "*v1.ConfigMap: a snapshot does not hold objects of this kind"},
		{"set without a name", s.Set(&v1.Service{}), "metadata.name: Required value: an object of type *v1.Service needs a name"},
		{"unset what is not there", s.Unset(&v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "y"}}), "*v1.Service x/y: not found"},
	} {
		t.Run(c.name, func(t *testing.T) { require.EqualError(t, c.err, c.want) })
	}
	require.Equal(t, version, s.Version(), "errors change nothing")
}

// What a pod counts with comes from package overhead: resize, pod overhead, pod-level requests, defaults for scores.
func TestRequestsOfPods(t *testing.T) {
	resized := testkit.Pod("p").Request("cpu=1").On("a").Obj()
	resized.Status.ContainerStatuses = []v1.ContainerStatus{{
		Name: "c", AllocatedResources: testkit.Resources("cpu=3"), Resources: &v1.ResourceRequirements{Requests: testkit.Resources("cpu=2")},
	}}
	heavy := testkit.Pod("p").Request("cpu=1").On("a").Obj()
	heavy.Spec.Overhead = testkit.Resources("cpu=250m,memory=120Mi")
	level := testkit.Pod("p").Request("cpu=1").On("a").Obj()
	level.Spec.Resources = &v1.ResourceRequirements{Requests: testkit.Resources("cpu=500m")}
	for _, c := range []struct {
		name, reason string
		pod          *v1.Pod
		want         resources.Vector
		cpu, memory  int64
	}{
		{"nothing asked", "scores count 100m and 200Mi", testkit.Pod("p").On("a").Obj(), resources.Vector{0, 0, 0, 1}, 100, 200 << 20},
		{"resize in progress", "the largest of desired, actuated and allocated", resized, resources.Vector{3000, 0, 0, 1}, 3000, 200 << 20},
		{"pod overhead", "is part of both", heavy, resources.Vector{1250, 120 << 20, 0, 1}, 1250, 320 << 20},
		{"pod-level requests", "replace the containers'", level, resources.Vector{500, 0, 0, 1}, 500, 200 << 20},
		{"unknown names", "are ignored", testkit.Pod("p").Request("foo=1,pods=3,cpu=100u").On("a").Obj(), resources.Vector{1, 0, 0, 1}, 1, 200 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mustNew(t, Objects{Nodes: two(), Pods: []*v1.Pod{c.pod}})
			require.Equal(t, c.want, s.Requested(0), c.reason)
			cpu, memory := s.NonZero(0)
			require.Equal(t, []int64{c.cpu, c.memory}, []int64{cpu, memory}, c.reason)
		})
	}
}

func TestSaturationIsUndone(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	require.NoError(t, s.Assume(testkit.Pod("small").Request("memory=1Gi").Obj(), 0))
	for i := range 3 {
		require.NoError(t, s.Assume(testkit.Pod(fmt.Sprint("huge", i)).Request("memory=9223372036854775807").Obj(), 0))
	}
	require.Equal(t, int64(math.MaxInt64), s.Requested(0)[resources.Memory])
	for i := range 3 {
		require.NoError(t, s.Forget(testkit.Pod(fmt.Sprint("huge", i)).Obj()))
	}
	require.Equal(t, resources.Vector{0, 1 << 30, 0, 1}, s.Requested(0))
	_, memory := s.NonZero(0)
	require.Equal(t, int64(1<<30), memory)
}

func TestSlotsAreReusedAndLogged(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two(), Pods: []*v1.Pod{testkit.Pod("p").On("a").Obj()}})
	require.NoError(t, s.Assume(testkit.Pod("assumed").Obj(), 0))
	v := s.Version()
	require.NoError(t, s.RemoveNode("a"))
	require.Nil(t, s.Node(0))
	require.Equal(t, 2, s.Len())
	require.Equal(t, 1, s.Slot("b"), "slots of others stay")
	require.Len(t, s.Orphans(), 1, "an assumed pod is pending again, a bound one waits for its node")
	slot, err := s.AddNode(testkit.Node("c").Obj())
	require.NoError(t, err)
	require.Equal(t, 0, slot)
	var got []Event
	require.True(t, s.Since(v, func(e []Event) { got = append(got, e...) }))
	set := s.Prepare(testkit.Pod("p").Obj()).Set()
	require.Equal(t, []Event{{0, set, -1, -1}, {0, set, -1, -1}, {0, -1, -1, 0}, {0, -1, -1, 0}}, got)
	slot, err = s.AddNode(two()[0])
	require.NoError(t, err)
	require.Equal(t, 2, slot)
	require.Equal(t, 1, s.PodCount(2), "the orphan is back")
	require.Empty(t, s.Orphans())
}

func TestSinceForgetsTheOldest(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	pod := testkit.Pod("p").Obj()
	start := s.Version()
	for i := range 100_000 {
		if i%2 == 0 {
			require.NoError(t, s.Assume(pod, 0))
		} else {
			require.NoError(t, s.Forget(pod))
		}
		if i < 8192 || i%5000 == 0 {
			n := 0
			from := max(start, s.Version()-min(8192, s.Version()))
			require.True(t, s.Since(from, func(e []Event) { n += len(e); require.LessOrEqual(t, len(e), 256) }), "at least 8,192 events are kept")
			require.Equal(t, int(s.Version()-from), n)
		}
	}
	none := func([]Event) { t.Error("events of a version that the log does not have") }
	require.False(t, s.Since(start, none))
	require.False(t, s.Since(s.Version()+1, none))
	require.True(t, s.Since(s.Version(), none), "nothing happened since now")
}

// Ids of pod sets that no pod is in are given out anew once there are many; readers are told.
func TestIdleSetsAreSwept(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	keep := testkit.Pod("keep").Labels("app=keep").RequireApart("k", "app=keep").Obj()
	info := s.Prepare(keep)
	require.NoError(t, s.AssumePrepared(info, keep, 1))
	idle := s.Prepare(testkit.Pod("idle").Labels("app=idle").Obj())
	told := 0
	for i := range 5_000 {
		v := s.Version()
		p := testkit.Pod("p").Labels(fmt.Sprintf("app=a%d", i)).RequireApart("k", fmt.Sprintf("app=a%d", i)).Obj()
		require.NoError(t, s.Assume(p, 0))
		require.NoError(t, s.Forget(p))
		require.True(t, s.Since(v, func(list []Event) {
			for _, e := range list {
				if e.Node == -1 {
					told++
				}
			}
		}))
	}
	require.Less(t, s.TermSets(), 1100, "ids are reused")
	require.Less(t, s.sets.n, 1100)
	require.Positive(t, told)
	require.Equal(t, info.Set(), s.Prepare(keep).Set(), "sets with pods keep their id")
	require.Equal(t, info.Terms(), s.Prepare(keep).Terms())

	pod := testkit.Pod("idle").Labels("app=idle").Obj()
	require.NoError(t, s.AssumePrepared(idle, pod, 0), "a stale Info is worked out again")
	found := 0
	s.PodSets("default", "app", "idle", func(id int32) {
		rep, nodes, counts := s.PodSet(id)
		require.Equal(t, pod.Labels, rep.Labels)
		require.Equal(t, []int32{0}, nodes)
		require.Equal(t, []int32{1}, counts)
		found++
	})
	require.Equal(t, 1, found)
	check(t, s)
}

// An Info may be used where it was not prepared.
func TestInfoOfAnotherSnapshot(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	f := s.Fork()
	a := testkit.Pod("a").Labels("app=a").Request("example.com/a=1").Obj()
	b := testkit.Pod("b").Labels("app=b").Request("example.com/b=2").Obj()
	require.NoError(t, s.Assume(a, 0))
	info := f.Prepare(b) // the same set id and column as a's in s
	require.NoError(t, s.AssumePrepared(info, b, 1))
	require.Equal(t, "pods=1 example.com/b=2", s.Requested(1).Describe(s.Schema()))
	require.Equal(t, resources.Scalars+2, s.Schema().Len())
	require.Equal(t, resources.Scalars+1, f.Schema().Len(), "a fork's schema grows alone")
	require.Empty(t, f.TotalPods())
	_, inF := f.Schema().Column("example.com/a")
	require.False(t, inF)
}

func TestDomainsKeepTheirNumbers(t *testing.T) {
	s := mustNew(t, Objects{Nodes: []*v1.Node{
		testkit.Node("a").Zone("z1").Obj(), testkit.Node("b").Zone("z2").Obj(), testkit.Node("c").Zone("z2").Obj(), testkit.Node("d").Obj(),
	}})
	ids, n, have := s.Domains(v1.LabelTopologyZone)
	require.Equal(t, []int32{0, 1, 1, -1}, ids)
	require.Equal(t, []int{2, 3}, []int{n, have})
	old := slices.Clone(ids)

	restart := func(change func()) bool {
		v, seen := s.Version(), false
		change()
		require.True(t, s.Since(v, func(list []Event) {
			for _, e := range list {
				seen = seen || e.Node == -1
			}
		}))
		return seen
	}
	require.False(t, restart(func() { require.NoError(t, s.UpdateNode(testkit.Node("c").Zone("z3").Obj())) }), "no value lost its last node")
	now, n, _ := s.Domains(v1.LabelTopologyZone)
	require.Equal(t, []int32{0, 1, 2, -1}, now)
	require.Equal(t, 3, n)
	require.Equal(t, old, ids, "a list that was returned stays")

	require.False(t, restart(func() { require.NoError(t, s.RemoveNode("a")) }), "each node had a zone of its own, and has")
	require.NoError(t, s.UpdateNode(testkit.Node("d").Zone("z2").Obj()))
	require.True(t, restart(func() { require.NoError(t, s.UpdateNode(testkit.Node("c").Obj())) }), "zone z3 is gone, z2 has two nodes")
	now, n, have = s.Domains(v1.LabelTopologyZone)
	require.Equal(t, []int32{-1, 0, -1, 0}, now)
	require.Equal(t, []int{1, 2}, []int{n, have})
}

func TestClassesOfUnknownReads(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	_, _, ok := s.Classes([]string{"taints", "weather"})
	require.False(t, ok)
	for i := range 3 * maxClasses { // more lists than are kept
		ids, reps, ok := s.Classes([]string{fmt.Sprintf("label:k%d", i), "name"})
		require.True(t, ok)
		require.Equal(t, []int32{0, 1}, ids)
		require.Equal(t, []int32{0, 1}, reps)
	}
	require.LessOrEqual(t, len(*s.indexes.Load()), maxClasses)
}

// Examples of the zone-interleaved order.
func TestOrder(t *testing.T) {
	node := func(name string, labels ...string) *v1.Node {
		b := testkit.Node(name)
		for i := 0; i < len(labels); i += 2 {
			b = b.Label(labels[i], labels[i+1])
		}
		return b.Obj()
	}
	zoned := func(list ...string) (nodes []*v1.Node) { // "a1" is node a1 of zone a
		for _, name := range list {
			nodes = append(nodes, testkit.Node(name).Zone(name[:1]).Obj())
		}
		return nodes
	}
	const beta, region = v1.LabelFailureDomainBetaZone, v1.LabelTopologyRegion
	for _, c := range []struct {
		name  string
		nodes []*v1.Node
		want  string
	}{
		{"four and two", zoned("a1", "a2", "a3", "a4", "b5", "b6"), "[a1 b5 a2 b6 a3 a4]"},
		{"uneven zones", zoned("a1", "a2", "a3", "b1", "c1", "c2"), "[a1 b1 c1 a2 c2 a3]"},
		{"regions", []*v1.Node{
			node("x1", region, "r1", v1.LabelTopologyZone, "z"), node("x2", region, "r1", v1.LabelTopologyZone, "z"),
			node("y1", region, "r2", v1.LabelTopologyZone, "z"), node("y2", region, "r2", v1.LabelTopologyZone, "z"),
			node("u1"), node("u2"), node("w1", region, "r1"),
		}, "[x1 y1 u1 w1 x2 y2 u2]"},
		{"beta label first", []*v1.Node{
			node("b1", v1.LabelTopologyZone, "B"), node("b2", beta, "B", v1.LabelTopologyZone, "A"), node("a1", v1.LabelTopologyZone, "A"),
		}, "[b1 a1 b2]"},
		{"empty beta label", []*v1.Node{
			node("u1"), node("u2", beta, "", v1.LabelTopologyZone, "A"), node("a1", v1.LabelTopologyZone, "A"),
		}, "[u1 a1 u2]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, orderOf(mustNew(t, Objects{Nodes: c.nodes})))
		})
	}
	t.Run("nodes come and go", func(t *testing.T) {
		s := mustNew(t, Objects{Nodes: zoned("a1", "a2", "a3", "b1", "c1", "c2")})
		add := func(name string) {
			_, err := s.AddNode(zoned(name)[0])
			require.NoError(t, err)
		}
		add("b2")
		require.Equal(t, "[a1 b1 c1 a2 b2 c2 a3]", orderOf(s))
		require.NoError(t, s.RemoveNode("a1"))
		require.Equal(t, "[a2 b1 c1 a3 b2 c2]", orderOf(s))
		require.NoError(t, s.RemoveNode("b1"))
		require.NoError(t, s.RemoveNode("b2"))
		require.Equal(t, "[a2 c1 a3 c2]", orderOf(s))
		add("b3")
		require.Equal(t, "[a2 c1 b3 a3 c2]", orderOf(s), "a zone that comes back is the last")
	})
}

func orderOf(s *Snapshot) string {
	var names []string
	for _, i := range s.Order() {
		names = append(names, s.Node(int(i)).Name)
	}
	return fmt.Sprint(names)
}

func TestImages(t *testing.T) {
	s := mustNew(t, Objects{Nodes: []*v1.Node{
		testkit.Node("a").Image(10, "x:1", "x@sha").Obj(), testkit.Node("b").Image(20, "x:1", "x:1").Image(30, "x:1").Obj(),
	}})
	size, n, has := s.Image("x:1")
	require.Equal(t, []any{int64(10), 2, true, true}, []any{size, n, has(0), has(1)}, "the size is that of the lowest slot")
	require.NoError(t, s.UpdateNode(testkit.Node("a").Obj()))
	require.True(t, has(0), "what was returned describes the nodes of then")
	size, n, has = s.Image("x:1")
	require.Equal(t, []any{int64(20), 1, false, true}, []any{size, n, has(0), has(1)})
	_, n, has = s.Image("x@sha")
	require.Equal(t, []any{0, false}, []any{n, has(0)})
}

func TestObjects(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "x", Name: "o"}
	s := mustNew(t, Objects{Services: []*v1.Service{{ObjectMeta: meta}}})
	claim, class := &v1.PersistentVolumeClaim{ObjectMeta: meta}, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}}
	require.NoError(t, s.SetNamespace("x", map[string]string{"a": "b"}))
	m := s.Mark()
	for _, o := range []metav1.Object{claim, class, testkit.Node("n").Obj(), testkit.Pod("x/p").On("n").Obj()} {
		require.NoError(t, s.Set(o))
	}
	require.NoError(t, s.RemoveNamespace("x"))
	got, ok := s.Claims().Get("x", "o")
	require.True(t, ok)
	require.Same(t, claim, got)
	require.Equal(t, []*storagev1.StorageClass{class}, slices.Collect(s.StorageClasses().All()))
	require.Equal(t, 1, s.Services().Len())
	require.Equal(t, 1, s.TotalPods())
	_, ok = s.Namespace("x")
	require.False(t, ok)
	require.True(t, s.Rollback(m))
	require.Zero(t, s.Claims().Len()+s.StorageClasses().Len()+s.TotalPods()+s.NodeCount())
	labels, ok := s.Namespace("x")
	require.True(t, ok)
	require.Equal(t, map[string]string{"a": "b"}, labels)
	require.Len(t, slices.Collect(s.Services().In("x")), 1)
	require.Empty(t, slices.Collect(s.Services().In("y")))
}

func TestNothingIsModified(t *testing.T) {
	nodes := two()
	pods := []*v1.Pod{testkit.Pod("p").Labels("b=1,a=2").On("a").Obj(), testkit.Pod("q").RequireApart("k", "a=2").Obj()}
	all := []runtime.Object{nodes[0], nodes[1], pods[0], pods[1]}
	testkit.Unchanged(t, func() {
		s := mustNew(t, Objects{Nodes: nodes, Pods: pods})
		require.NoError(t, s.Assume(pods[1], 1))
		describe(s)
		require.NoError(t, s.RemoveNode("a"))
		describe(s.Fork())
	}, all...)
}

func TestHotVerbsDoNotAllocate(t *testing.T) {
	s := build(t, 100, 3)
	pod := testkit.Pod("new").Labels("app=a1,tier=t1").Request("cpu=100m").RequireApart(v1.LabelHostname, "app=x0").Obj()
	info := s.Prepare(pod)
	for _, c := range []struct {
		name string
		call func()
	}{
		{"Prepare of a known kind", func() { s.Prepare(pod) }},
		{"rows", func() {
			s.Allocatable(5)
			s.Requested(5)
			s.NonZero(5)
			s.Node(5)
			s.PortPods(5)
			s.PodCount(5)
		}},
		{"Domains", func() { s.Domains(v1.LabelTopologyZone) }},
		{"sets", func() { s.PodSet(0); s.TermSet(0); s.TermSets() }},
		{"Order", func() { s.Order() }},
		{"look-ups", func() { s.Slot("node-00007"); s.PodSlot("default", "pod-1-1"); s.Pod("default", "pod-1-1") }},
		{"Mark and Rollback", func() { s.Rollback(s.Mark()) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.call()
			require.Zero(t, testing.AllocsPerRun(100, c.call))
		})
	}
	t.Run("Assume and Forget", func(t *testing.T) {
		// One in 128 pairs begins a block of the change log.
		got := testing.AllocsPerRun(1000, func() {
			if s.AssumePrepared(info, pod, 5) != nil || s.Forget(pod) != nil {
				t.Error("not assumed")
			}
		})
		require.Zero(t, got)
	})
}

// Reads run beside each other, also those that make an index; forks and their original change beside each other.
func TestConcurrentUse(t *testing.T) {
	s := build(t, 70, 3)
	text := describe(s.Fork())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if describe(s) != text {
				t.Error("a read beside others differs")
			}
		})
	}
	wg.Wait()
	forks := make([]*Snapshot, 4)
	for i := range forks {
		forks[i] = s.Fork()
	}
	for i, f := range append(forks, s) {
		wg.Go(func() {
			w := newWorld(t, int64(i))
			for k := range 200 {
				if err := f.Update(w.pod(fmt.Sprintf("n1/p%d", k))); err != nil {
					t.Error(err)
				}
				if err := f.Assume(w.pod(fmt.Sprintf("n%d/p%d", i, k)), k%70); err != nil {
					t.Error(err)
				}
				if err := f.UpdateNode(w.node(fmt.Sprintf("node-%05d", k%70))); err != nil {
					t.Error(err)
				}
			}
			describe(f)
			check(t, f)
		})
	}
	wg.Wait()
	for i, f := range append(forks, s) {
		require.Equal(t, 70*3+200, f.TotalPods(), "fork %d", i)
	}
}
