package cluster

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

func TestOperationErrors(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two(), Pods: []*v1.Pod{testkit.Pod("p").On("a").Obj(), testkit.Pod("lost").On("gone").Obj()}})
	require.NoError(t, s.removeNode("b"))
	version := s.Version()
	other := testkit.Pod("p").Obj()
	other.UID = "other"
	ended := testkit.Pod("ended").Obj()
	ended.Status.Phase = v1.PodFailed
	type test struct {
		name string
		err  error
		kind field.ErrorType
		want string
	}
	testkit.Run(t, []test{
		{"assume on a free slot", s.Assume(testkit.Pod("q").Obj(), 1), field.ErrorTypeNotFound, "slot: Not found: 1: no node is there, slots run from 0 to 1"},
		{"assume past the end", s.Assume(testkit.Pod("q").Obj(), 2), field.ErrorTypeNotFound, "slot: Not found: 2: no node is there, slots run from 0 to 1"},
		{"assume below zero", s.Assume(testkit.Pod("q").Obj(), -1), field.ErrorTypeNotFound, "slot: Not found: -1: no node is there, slots run from 0 to 1"},
		{"assume twice", s.Assume(testkit.Pod("p").Obj(), 0), field.ErrorTypeDuplicate, `pods: Duplicate value: "default/p": the pod is on node "a"`},
		{"assume an orphan", s.Assume(testkit.Pod("lost").Obj(), 0), field.ErrorTypeDuplicate, `pods: Duplicate value: "default/lost": the pod is on a node that is not in the snapshot`},
		{"assume a finished pod", s.Assume(ended, 0), field.ErrorTypeInvalid, `pods.status.phase: Invalid value: "Failed": pod default/ended has finished`},
		{"assume a nil pod", s.Assume(nil, 0), field.ErrorTypeRequired, "pods: Required value: a nil pod"},
		{"remove an unknown pod", s.Remove(testkit.Pod("q").Obj()), field.ErrorTypeNotFound, `pods: Not found: "default/q"`},
		{"remove a pod with another UID", s.Remove(other), field.ErrorTypeNotFound, `pods: Not found: "default/p": the pod of this name has UID "uid-default-p", not "other"`},
		{"set a pod without a name", s.Set(&v1.Pod{}), field.ErrorTypeRequired, "pods.metadata.name: Required value: a pod needs a name"},
		{"set a node without a name", s.Set(&v1.Node{}), field.ErrorTypeRequired, "nodes.metadata.name: Required value: a node needs a name"},
		{"set a nil node", s.Set((*v1.Node)(nil)), field.ErrorTypeRequired, "nodes: Required value: a nil node"},
		{"set a nil pod", s.Set((*v1.Pod)(nil)), field.ErrorTypeRequired, "pods: Required value: a nil pod"},
		{"set a nil object", s.Set((*v1.Service)(nil)), field.ErrorTypeRequired, "services: Required value: a nil object"},
		{"set nil", s.Set(nil), field.ErrorTypeNotSupported, `objects: Unsupported value: "<nil>": a snapshot has no objects of this type`},
		{"unset a nil node", s.Remove((*v1.Node)(nil)), field.ErrorTypeRequired, "nodes: Required value: a nil node"},
		{"unset a nil pod", s.Remove((*v1.Pod)(nil)), field.ErrorTypeRequired, "pods: Required value: a nil pod"},
		{"unset nil", s.Remove(nil), field.ErrorTypeNotSupported, `objects: Unsupported value: "<nil>": a snapshot has no objects of this type`},
		{"remove an unknown node", s.removeNode("b"), field.ErrorTypeNotFound, `nodes: Not found: "b"`},
		{"set an unsupported kind", s.Set(&v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}), field.ErrorTypeNotSupported, `objects: Unsupported value: "*v1.ConfigMap": a snapshot has no objects of this type`},
		{"set a service without a name", s.Set(&v1.Service{}), field.ErrorTypeRequired, "services.metadata.name: Required value: an object needs a name"},
		{"unset an unknown object", s.Remove(&v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "y"}}), field.ErrorTypeNotFound, `services: Not found: "x/y"`},
		{"unset an unknown class", s.Remove(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}}), field.ErrorTypeNotFound, `storageClasses: Not found: "fast"`},
	}, func(t *testing.T, c test) {
		require.EqualError(t, c.err, c.want)
		var e *field.Error
		require.ErrorAs(t, c.err, &e)
		require.Equal(t, c.kind, e.Type)
	})
	require.ErrorIs(t, s.Assume(testkit.Pod("q").Obj(), 1), ErrUnknownNode)
	require.ErrorIs(t, s.removeNode("b"), ErrUnknownNode)
	require.NotErrorIs(t, s.Remove(testkit.Pod("q").Obj()), ErrUnknownNode, "no pod has the name")
	require.ErrorIs(t, s.Assume(testkit.Pod("p").Obj(), 0), ErrPlaced)
	require.ErrorIs(t, s.Assume(testkit.Pod("lost").Obj(), 0), ErrPlaced)
	_, err := New(Objects{Nodes: append(two(), testkit.Node("a").Obj())})
	require.ErrorIs(t, err, ErrDuplicate)
	require.Equal(t, version, s.Version(), "a call that returns an error changes nothing")
	require.Panics(t, func() { List[*v1.Node](s) })
}

func TestSaturationIsUndone(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	require.NoError(t, s.Assume(testkit.Pod("small").Request("memory=1Gi").Obj(), 0))
	for i := range 3 {
		require.NoError(t, s.Assume(testkit.Pod(fmt.Sprint("huge", i)).Request("memory=9223372036854775807").Obj(), 0))
	}
	require.Equal(t, int64(math.MaxInt64), s.Requested(0)[resources.Memory])
	for i := range 3 {
		require.NoError(t, s.Remove(testkit.Pod(fmt.Sprint("huge", i)).Obj()))
	}
	require.Equal(t, resources.Vector{0, 1 << 30, 0, 1}, s.Requested(0))
	_, memory := s.NonZero(0)
	require.Equal(t, int64(1<<30), memory)
}

func TestSlotsAreReusedAndLogged(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two(), Pods: []*v1.Pod{testkit.Pod("p").On("a").Obj()}})
	require.NoError(t, s.Assume(testkit.Pod("assumed").Obj(), 0))
	v := s.Version()
	require.NoError(t, s.removeNode("a"))
	require.Nil(t, s.Node(0))
	require.Equal(t, 2, s.Len())
	require.Equal(t, 1, s.Slot("b"), "slots of others stay")
	require.Len(t, s.Orphans(), 1, "an assumed pod is pending again, a bound pod waits for its node")
	require.NoError(t, s.Set(testkit.Node("c").Obj()))
	require.Equal(t, 0, s.Slot("c"))
	var got []Event
	require.True(t, s.Since(v, func(e []Event) { got = append(got, e...) }))
	set := s.prepare(testkit.Pod("p").Obj()).set
	require.Equal(t, []Event{{0, set, -1, -1}, {0, set, -1, -1}, {0, -1, -1, 0}, {0, -1, -1, 0}}, got)
	require.NoError(t, s.Set(two()[0]))
	require.Equal(t, 2, s.Slot("a"))
	require.Equal(t, 1, podCount(s, 2), "the orphan is back")
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
			require.NoError(t, s.Remove(pod))
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
