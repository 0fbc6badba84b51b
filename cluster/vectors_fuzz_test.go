package cluster

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// FuzzVectors compares a column of vectors and its forks with plain lists.
func FuzzVectors(f *testing.F) {
	f.Add([]byte{1, 0, 2, 0, 1, 3, 0, 2, 2, 1, 1, 0, 3, 1, 1, 1})
	f.Add([]byte{3, 0, 70, 0, 3, 1, 7, 1, 2, 3, 1, 65, 0, 5, 1, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		type fork struct {
			vectors
			own   *owner
			plain [][]int64
		}
		forks := []*fork{{own: new(owner)}}
		for b.More() {
			x := forks[b.Below(len(forks))]
			switch kind := b.Below(4); {
			case kind == 0 || len(x.plain) == 0:
				n := 1 + b.Below(2*chunkLen)
				x.grow(x.own, n)
				for len(x.plain) < n {
					x.plain = append(x.plain, nil)
				}
			case kind == 1 && len(forks) < 3:
				y := &fork{x.vectors, new(owner), nil}
				for _, row := range x.plain {
					y.plain = append(y.plain, slices.Clone(row))
				}
				x.own = new(owner) // what both have belongs to neither
				forks = append(forks, y)
			default:
				i, width := b.Below(len(x.plain)), b.Below(resources.Scalars+4)
				row := x.write(x.own, i, width)
				for len(x.plain[i]) < len(row) {
					x.plain[i] = append(x.plain[i], 0)
				}
				if len(row) < width {
					t.Fatalf("%d columns, want %d", len(row), width)
				}
				if width > 0 {
					row[width-1]++
					x.plain[i][width-1]++
				}
			}
		}
		for _, x := range forks {
			for i, want := range x.plain {
				got := x.at(i)
				for k := range max(len(got), len(want)) {
					if n := got.At(k); k < len(want) && n != want[k] || k >= len(want) && n != 0 {
						t.Fatalf("row %d: %v, want %v", i, got, want)
					}
				}
			}
		}
	})
}

// What a snapshot has copied is its own, and is not copied again.
func TestCopiesOnce(t *testing.T) {
	own := new(owner)
	var c column[int]
	c.grow(own, 1)
	list := &c.chunks[0]
	c.unshare(own)
	require.Same(t, list, &c.chunks[0])
	c.unshare(new(owner))
	require.NotSame(t, list, &c.chunks[0])
	other := new(owner)
	require.Same(t, c.write(other, 0), c.write(other, 0))

	var v vectors
	v.grow(own, 1)
	rows := &v.chunks[0]
	v.unshare(own)
	require.Same(t, rows, &v.chunks[0])
	v.unshare(new(owner))
	require.NotSame(t, rows, &v.chunks[0])

	var objects table[*policyv1.PodDisruptionBudget]
	spaces := func() uintptr { return reflect.ValueOf(objects.spaces).Pointer() }
	objects.write(own, "default")
	first := spaces()
	objects.write(own, "other")
	require.Equal(t, first, spaces())
	objects.write(new(owner), "other")
	require.NotEqual(t, first, spaces())
	later := new(owner)
	require.Same(t, objects.write(later, "other"), objects.write(later, "other"))
}

// A known set of labels takes no memory.
func TestKnownSetTakesNoMemory(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	pod := testkit.Pod("p").Labels("app=web").Obj()
	id := s.internSet(pod)
	require.Zero(t, testing.AllocsPerRun(10, func() {
		if s.internSet(pod) != id {
			t.Fatal("another id")
		}
	}))
}

// A row is no wider than the amounts of its node.
func TestRowsWithoutZeros(t *testing.T) {
	s := mustNew(t, Objects{Nodes: []*v1.Node{testkit.Node("a").Capacity("cpu=4,example.com/x=0").Obj()}})
	require.Len(t, s.Allocatable(0), resources.Scalars)
	require.NoError(t, s.Set(testkit.Node("a").Capacity("cpu=4,example.com/x=1").Obj()))
	require.Len(t, s.Allocatable(0), resources.Scalars+1)
}

// The list of a label's values that a reader holds is copied once, when a node changes.
func TestValuesCopiedOnce(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	s.Domains("rack")
	index := func() *valueIndex { return s.indexes[indexKey{name: "rack"}] }
	set := func(rack string) *int32 {
		require.NoError(t, s.Set(testkit.Node("a").Label("rack", rack).Obj()))
		return &index().ids[0]
	}
	held := &index().ids[0]
	first := set("r1")
	require.NotSame(t, held, first)
	require.Same(t, first, set("r2"), "nobody holds the copy")
	s.Domains("rack")
	require.NotSame(t, first, set("r3"))
}
