package cluster

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/view"
)

// Nodes that differ in one of the reads are of different classes, whatever the other reads are.
func TestClassesOfNodesThatLookAlike(t *testing.T) {
	cordoned := testkit.Node("c").Bare().Unschedulable().Obj()
	type test struct {
		name  string
		reads []string
		nodes []*v1.Node
	}
	testkit.Run(t, []test{
		{"a label of the one is a label of the other", []string{"label:x", "label:y"}, []*v1.Node{testkit.Node("a").Bare().Label("x", "v").Obj(), testkit.Node("b").Bare().Label("y", "v").Obj()}},
		{"an empty label and no label", []string{"label:x"}, []*v1.Node{testkit.Node("a").Bare().Label("x", "").Obj(), testkit.Node("b").Bare().Obj()}},
		{"cordoned, and an empty label", []string{"unschedulable", "label:x"}, []*v1.Node{testkit.Node("a").Bare().Label("x", "").Obj(), cordoned}},
	}, func(t *testing.T, c test) {
		ids, reps, ok := mustNew(t, Objects{Nodes: c.nodes}).Classes(c.reads)
		require.True(t, ok)
		require.Equal(t, []int32{0, 1}, ids)
		require.Equal(t, []int32{0, 1}, reps)
	})
}

// A snapshot keeps 128 lists of reads, and drops all of them for the next one.
func TestMostClasses(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	for i := range maxClasses + 1 {
		require.Len(t, s.indexes, i)
		_, _, ok := s.Classes([]string{fmt.Sprint("label:k", i)})
		require.True(t, ok)
	}
	require.Len(t, s.indexes, 1)
}

// An object of storage that changes is one event that only pods with volumes read.
func TestEventsOfStorage(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	m := metav1.ObjectMeta{Namespace: "x", Name: "o"}
	for _, object := range []metav1.Object{
		&v1.PersistentVolumeClaim{ObjectMeta: m}, &v1.PersistentVolume{ObjectMeta: m}, &storagev1.StorageClass{ObjectMeta: m}, &storagev1.CSINode{ObjectMeta: m},
		&storagev1.CSIDriver{ObjectMeta: m}, &storagev1.CSIStorageCapacity{ObjectMeta: m}, &storagev1.VolumeAttachment{ObjectMeta: m},
	} {
		for _, change := range []func(metav1.Object) error{s.Set, s.Remove} {
			before, have := s.Version(), []Event{}
			require.NoError(t, change(object))
			require.True(t, s.Since(before, func(list []Event) { have = append(have, list...) }))
			require.Equal(t, []Event{{Node: view.Storage, Set: -1, Terms: -1}}, have, "%T", object)
		}
	}
}

// The same object again is no change; a mark ends once; a free slot has no ports; a reader of a namespace may stop.
func TestNothingToDo(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	before := s.Version()
	require.NoError(t, s.Set(s.Node(0)))
	require.Equal(t, before, s.Version())
	m := s.Mark()
	require.True(t, s.Commit(m))
	require.False(t, s.Commit(m))
	require.False(t, s.Commit(Mark{}))
	require.NoError(t, s.Remove(s.Node(1)))
	require.Empty(t, s.PortPods(1))
	for _, name := range []string{"a", "b"} {
		require.NoError(t, s.Set(&v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name}}))
	}
	for service := range List[*v1.Service](s).In("x") {
		require.Equal(t, "a", service.Name)
		break
	}
}
