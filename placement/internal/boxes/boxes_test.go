package boxes

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// Boxes hold what they should while nodes change their rows, their offers and their groups.
func TestBoxes(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 3))
		var objects cluster.Objects
		for i := range 180 {
			objects.Nodes = append(objects.Nodes, testkit.Node(fmt.Sprintf("n%03d", i)).Capacity(pick(r, "cpu=8,memory=16Gi,pods=20", "cpu=8,memory=17Gi,pods=20", "cpu=4,pods=5")).Obj())
		}
		s, err := cluster.New(objects)
		require.NoError(t, err)
		order := make([]int, s.Len())
		for k, i := range r.Perm(s.Len()) {
			order[k] = i
		}
		groups, places := make([]int32, s.Len()), make([]int32, s.Len())
		for place, i := range order {
			groups[i], places[i] = int32(r.IntN(2)), int32(place)
		}
		x := New(s, places, order, groups)
		require.NoError(t, x.Valid(groups))
		var running []*v1.Pod
		var later []int32 // slots that changed, which the boxes learn a few at a time
		stale := 0
		for step := range 1500 {
			i := int32(r.IntN(s.Len()))
			switch r.IntN(8) {
			case 0: // the node offers something else
				require.NoError(t, s.Set(testkit.Node(s.Node(int(i)).Name).Capacity(pick(r, "cpu=8,memory=16Gi,pods=20", "cpu=4,pods=5", "cpu=6,memory=9Gi")).Obj()))
			case 1:
				groups[i] = int32(r.IntN(4)) - 1
			case 2, 3, 4:
				if n := len(running); n > 0 {
					k := r.IntN(n)
					i = int32(s.Slot(running[k].Spec.NodeName))
					require.NoError(t, s.Remove(running[k]))
					running = slices.Delete(running, k, k+1)
				}
			default:
				if cpu, _ := s.NonZero(int(i)); s.Node(int(i)).Status.Allocatable.Cpu().MilliValue()/2 < cpu {
					break
				}
				p := testkit.Pod(fmt.Sprint("p", step)).Request(fmt.Sprintf("cpu=%dm,memory=%dMi", r.IntN(3000), r.IntN(3000))).On(s.Node(int(i)).Name).Obj()
				require.NoError(t, s.Set(p))
				running = append(running, p)
			}
			if later = append(later, i); step%20 == 0 || r.IntN(4) == 0 {
				for _, i := range later {
					x.Update(int(i), groups[i])
				}
				later = later[:0]
			}
			if step%20 == 0 {
				require.NoError(t, x.Valid(groups))
				stale += x.stale()
			}
		}
		require.Positive(t, stale, "some bounds were too wide for a while")
	}
}

// A node that comes to a free slot gets a box, also when no box of its group and offer is there yet.
func TestBoxOfANewGroup(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n0").Capacity("cpu=8").Obj(), testkit.Node("n1").Capacity("cpu=4").Obj()}})
	require.NoError(t, err)
	groups := []int32{0, -1}
	x := New(s, []int32{0, 1}, []int{0}, groups)
	require.NoError(t, x.Valid(groups))
	groups[1] = 1
	require.Error(t, x.Valid(groups))
	x.Update(1, 1)
	require.NoError(t, x.Valid(groups))
	require.NotNil(t, x.leaf[1])
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func TestHalf(t *testing.T) {
	for _, c := range []struct {
		level     int
		used, all int64
		want      int
	}{
		{0, 0, 8, 0}, {0, -8, 8, 0}, {0, 3, 0, 0}, {0, 3, 8, 0}, {0, 5, 8, 1}, {0, 8, 8, 1}, {0, 9, 8, 1},
		{1, 1, 8, 0}, {1, 3, 8, 1}, {1, 5, 8, 0}, {1, 7, 8, 1}, {2, 1, 16, 0}, {2, 3, 16, 1}, {levels - 1, 511, 511, 1}, {levels - 1, 510, 511, 0},
	} {
		require.Equal(t, c.want, half(c.level, c.used, c.all), "%+v", c)
	}
	row := Bounds{Allocatable: [2]resources.Vector{{100, 1000}}, CPUMilli: [2]int64{60, 90}, MemoryBytes: [2]int64{60, 900}}
	require.Equal(t, 2, row.childAt(0), "much of the cpu and little of the memory is in use")
	row.CPUMilli[0], row.MemoryBytes[0] = 10, 600
	require.Equal(t, 1, row.childAt(0))
}

// Nodes offer about the same when the five leading bits of every amount are equal.
func TestAppendOffer(t *testing.T) {
	key := func(amounts ...int64) string {
		return string(appendOffer(nil, &Bounds{Allocatable: [2]resources.Vector{amounts}}))
	}
	require.Equal(t, key(0b10101_000), key(0b10101_111))
	require.NotEqual(t, key(0b10101_000), key(0b10110_000))
	require.NotEqual(t, key(0b10101_000), key(0b10101_0000))
	require.NotEqual(t, key(0, 1), key(1, 0))
	require.NotEqual(t, key(0, 1), key(1))
	require.Equal(t, key(1), key(1, 0, 0), "a row may end early")
	require.Equal(t, key(-1, 1), key(0, 1))
	require.Equal(t, "ab"+key(7), string(appendOffer([]byte("ab"), &Bounds{Allocatable: [2]resources.Vector{{7}}})))
}

// The bounds of a short row make room for a longer one. The short row has zeros where it has no number.
func TestWidenShortRows(t *testing.T) {
	row := func(allocatable, requested resources.Vector) *Bounds {
		return &Bounds{Allocatable: [2]resources.Vector{allocatable, allocatable}, Requested: [2]resources.Vector{requested, requested}}
	}
	short, long := row(resources.Vector{4, 8}, resources.Vector{1}), row(resources.Vector{2, 9, 5, 7}, resources.Vector{0, 2, -3})
	for _, list := range [][2]*Bounds{{short, long}, {long, short}} {
		var b Bounds
		b.widen(true, list[0])
		b.widen(false, list[1])
		require.Equal(t, [2]resources.Vector{{2, 8, 0, 0}, {4, 9, 5, 7}}, b.Allocatable)
		for k, want := range []resources.Vector{{0, 0, -3}, {1, 2, 0}} {
			for c, n := range want {
				require.Equal(t, n, b.Requested[k].At(c), "%d of %v", c, b.Requested[k])
			}
		}
	}
}

// stale returns how many boxes have bounds that may be too wide.
func (t *Tree) stale() int {
	c := &checker{tree: t}
	for g := range t.groups {
		for _, b := range t.groups[g].boxes {
			c.box(b, nil, func(int32, *Bounds) {})
		}
	}
	return c.stale
}

// The bounds of one row are its amounts, and its place in the order.
func TestRowOf(t *testing.T) {
	s, err := cluster.New(cluster.Objects{
		Nodes: []*v1.Node{testkit.Node("n0").Capacity("cpu=8,memory=16Gi").Obj(), testkit.Node("n1").Capacity("cpu=8,memory=16Gi").Obj()},
		Pods:  []*v1.Pod{testkit.Pod("p").Request("cpu=3,memory=5").On("n1").Obj()},
	})
	require.NoError(t, err)
	row := New(s, []int32{0, 7}, []int{0, 1}, []int32{0, 0}).rowOf(1)
	require.Equal(t, [2]int64{3000, 3000}, row.CPUMilli)
	require.Equal(t, [2]int64{5, 5}, row.MemoryBytes)
	require.Equal(t, int32(7), row.first)
}

// Valid names what is wrong with a box.
func TestValidFindsFaults(t *testing.T) {
	s, err := cluster.New(cluster.Objects{
		Nodes: []*v1.Node{testkit.Node("n0").Capacity("cpu=8,memory=16Gi").Obj(), testkit.Node("n1").Capacity("cpu=8,memory=16Gi").Obj()},
		Pods:  []*v1.Pod{testkit.Pod("p").Request("cpu=3").On("n1").Obj()},
	})
	require.NoError(t, err)
	groups := []int32{0, 0}
	type test struct {
		name, why string
		change    func(x *Tree, b *box)
		want      string
	}
	testkit.Run(t, []test{
		{"count", "a box of two slots", func(_ *Tree, b *box) { b.count++ }, "a box of 2 slots counts 3"},
		{"first", "the search begins behind the first node", func(_ *Tree, b *box) { b.first++ }, "a box begins at place 1, a slot is at 0"},
		{"too narrow", "a node has more in use", func(_ *Tree, b *box) { b.CPUMilli[1]-- }, "bounds do not hold all rows"},
		{"too wide", "no node has so much in use", func(_ *Tree, b *box) { b.CPUMilli[1]++ }, "bounds that nothing has left since they were made are too wide"},
		{"too wide for a while", "a node has left the box", func(_ *Tree, b *box) { b.CPUMilli[1], b.stale = b.CPUMilli[1]+1, 1 }, ""},
		{"stale", "the bounds are made again in time", func(_ *Tree, b *box) { b.stale = 10 }, "the bounds of a box are not made again after 10 changes"},
		{"leaf", "the slot is in this box", func(x *Tree, _ *box) { x.leaf[1] = &box{} }, "slot 1 is in another box"},
		{"one slot too many", "n1 has no group", func(*Tree, *box) { groups[1] = -1 }, "slot 1 of group -1 is in a box of group 0"},
	}, func(t *testing.T, c test) {
		groups[1] = 0
		x := New(s, []int32{0, 1}, []int{0, 1}, groups)
		require.NoError(t, x.Valid(groups))
		c.change(x, x.leaf[0])
		if err := x.Valid(groups); c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
		}
	})
}
