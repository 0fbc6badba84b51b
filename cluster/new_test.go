package cluster

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

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
	type test struct {
		name, why string
		objects   Objects
		want      string
	}
	testkit.Run(t, []test{
		{"two nodes of one name", "names are identities", Objects{Nodes: []*v1.Node{n, n}}, `nodes[1].metadata.name: Duplicate value: "n"`},
		{"nameless node", "nodes are found by name", Objects{Nodes: []*v1.Node{{}}}, `nodes[0].metadata.name: Required value: a node needs a name`},
		{"nil node", "there is nothing to read", Objects{Nodes: []*v1.Node{nil}}, `nodes[0]: Required value: a nil node`},
		{"two pods of one name", "also when neither is on a node", Objects{Pods: []*v1.Pod{p, p}}, `pods[1].metadata.name: Duplicate value: "ns/p"`},
		{"assigned and pending pod of one name", "wherever they are", Objects{
			Nodes: []*v1.Node{n}, Pods: []*v1.Pod{testkit.Pod("ns/p").On("n").Obj(), p},
		}, `pods[1].metadata.name: Duplicate value: "ns/p"`},
		{"pending and assigned pod of one name", "in the other order", Objects{
			Nodes: []*v1.Node{n}, Pods: []*v1.Pod{p, testkit.Pod("ns/p").On("n").Obj()},
		}, `pods[1].metadata.name: Duplicate value: "ns/p"`},
		{"nameless pod", "pods are found by name", Objects{Pods: []*v1.Pod{{}}}, `pods[0].metadata.name: Required value: a pod needs a name`},
		{"nil pod", "there is nothing to read", Objects{Pods: []*v1.Pod{nil}}, `pods[0]: Required value: a nil pod`},
		{"two services of one name", "of one namespace", Objects{Services: []*v1.Service{
			{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "s"}}, {ObjectMeta: metav1.ObjectMeta{Namespace: "y", Name: "s"}},
			{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "s"}},
		}}, `services[2].metadata.name: Duplicate value: "x/s"`},
		{"nil class", "there is nothing to read", Objects{StorageClasses: []*storagev1.StorageClass{nil}}, `storageClasses[0]: Required value: a nil object`},
		{"nameless claim", "claims are found by name", Objects{Claims: []*v1.PersistentVolumeClaim{{}}}, `claims[0].metadata.name: Required value: an object needs a name`},
		{"nameless objects", "they are not duplicates besides", Objects{Nodes: []*v1.Node{{}, {}}, Pods: []*v1.Pod{{}, {}}, Claims: []*v1.PersistentVolumeClaim{{}, {}}},
			`[nodes[0].metadata.name: Required value: a node needs a name, nodes[1].metadata.name: Required value: a node needs a name, ` +
				`pods[0].metadata.name: Required value: a pod needs a name, pods[1].metadata.name: Required value: a pod needs a name, ` +
				`claims[0].metadata.name: Required value: an object needs a name, claims[1].metadata.name: Required value: an object needs a name]`},
		{"several errors", "the error names all", Objects{Nodes: []*v1.Node{n, n}, Pods: []*v1.Pod{nil}},
			`[nodes[1].metadata.name: Duplicate value: "n", pods[0]: Required value: a nil pod]`},
	}, func(t *testing.T, c test) {
		s, err := New(c.objects)
		require.Nil(t, s)
		require.EqualError(t, err, c.want)
		var first *field.Error
		require.ErrorAs(t, err, &first)
		require.Contains(t, c.want, first.Error(), "callers read the first error as a *field.Error")
	})
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
	require.Equal(t, 0, podCount(s, 1))
	require.Len(t, s.Orphans(), 1)
	require.Equal(t, "lost", s.Orphans()[0].Name)
	require.Equal(t, -1, s.podSlot("default", "lost"), "an orphan is on no slot")
	require.Nil(t, s.Pod("default", "waiting"))
}

// Package overhead computes what a pod counts with: resize, pod overhead, pod-level requests, defaults for scores.
func TestRequestsOfPods(t *testing.T) {
	resized := testkit.Pod("p").Request("cpu=1").On("a").Obj()
	resized.Status.ContainerStatuses = []v1.ContainerStatus{{
		Name: "c", AllocatedResources: testkit.Resources("cpu=3"), Resources: &v1.ResourceRequirements{Requests: testkit.Resources("cpu=2")},
	}}
	heavy := testkit.Pod("p").Request("cpu=1").On("a").Obj()
	heavy.Spec.Overhead = testkit.Resources("cpu=250m,memory=120Mi")
	level := testkit.Pod("p").Request("cpu=1").On("a").Obj()
	level.Spec.Resources = &v1.ResourceRequirements{Requests: testkit.Resources("cpu=500m")}
	type test struct {
		name, why   string
		pod         *v1.Pod
		want        resources.Vector
		cpu, memory int64
	}
	testkit.Run(t, []test{
		{"nothing asked", "scores count 100m and 200Mi", testkit.Pod("p").On("a").Obj(), resources.Vector{0, 0, 0, 1}, 100, 200 << 20},
		{"resize in progress", "the largest of desired, actuated and allocated", resized, resources.Vector{3000, 0, 0, 1}, 3000, 200 << 20},
		{"pod overhead", "is part of both", heavy, resources.Vector{1250, 120 << 20, 0, 1}, 1250, 320 << 20},
		{"pod-level requests", "replace the containers'", level, resources.Vector{500, 0, 0, 1}, 500, 200 << 20},
		{"unknown names", "are ignored", testkit.Pod("p").Request("foo=1,pods=3,cpu=100u").On("a").Obj(), resources.Vector{1, 0, 0, 1}, 1, 200 << 20},
	}, func(t *testing.T, c test) {
		s := mustNew(t, Objects{Nodes: two(), Pods: []*v1.Pod{c.pod}})
		require.Equal(t, c.want, s.Requested(0))
		alone, ok := s.PodRequests(c.pod)
		require.True(t, ok)
		require.Equal(t, c.want, alone)
		_, ok = s.PodRequests(c.pod.DeepCopy())
		require.False(t, ok, "another object may ask for something else")
		cpu, memory := s.NonZero(0)
		require.Equal(t, []int64{c.cpu, c.memory}, []int64{cpu, memory})
	})
}

func TestObjects(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "x", Name: "o"}
	s := mustNew(t, Objects{Services: []*v1.Service{{ObjectMeta: meta}}})
	claim, class := &v1.PersistentVolumeClaim{ObjectMeta: meta}, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}}
	require.NoError(t, s.Set(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "x", Labels: map[string]string{"a": "b"}}}))
	m := s.Mark()
	for _, o := range []metav1.Object{claim, class, testkit.Node("n").Obj(), testkit.Pod("x/p").On("n").Obj()} {
		require.NoError(t, s.Set(o))
	}
	require.NoError(t, s.Remove(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "x"}}))
	got, ok := List[*v1.PersistentVolumeClaim](s).Get("x", "o")
	require.True(t, ok)
	require.Same(t, claim, got)
	require.Equal(t, []*storagev1.StorageClass{class}, slices.Collect(List[*storagev1.StorageClass](s).All()))
	require.Equal(t, 1, count[*v1.Service](s))
	require.Equal(t, 1, total(s))
	_, ok = s.Namespace("x")
	require.False(t, ok)
	require.True(t, s.Rollback(m))
	require.Zero(t, count[*v1.PersistentVolumeClaim](s)+count[*storagev1.StorageClass](s)+total(s)+s.live)
	labels, ok := s.Namespace("x")
	require.True(t, ok)
	require.Equal(t, map[string]string{"a": "b"}, labels)
	require.Len(t, slices.Collect(List[*v1.Service](s).In("x")), 1)
	require.Empty(t, slices.Collect(List[*v1.Service](s).In("y")))
}

func TestNothingIsModified(t *testing.T) {
	nodes := two()
	pods := []*v1.Pod{testkit.Pod("p").Labels("b=1,a=2").On("a").Obj(), testkit.Pod("q").RequireApart("k", "a=2").Obj()}
	all := []runtime.Object{nodes[0], nodes[1], pods[0], pods[1]}
	testkit.Unchanged(t, func() {
		s := mustNew(t, Objects{Nodes: nodes, Pods: pods})
		require.NoError(t, s.Assume(pods[1], 1))
		describe(s)
		require.NoError(t, s.removeNode("a"))
		describe(s.Fork())
	}, all...)
}
