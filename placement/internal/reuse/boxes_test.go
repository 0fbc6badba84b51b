package reuse

import (
	"fmt"
	"math"
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
		l := &layout{group: make([]int32, s.Len())}
		for i := range l.group {
			l.group[i] = int32(r.IntN(2))
		}
		x := newTree(&Engine{log: s, order: func() []int { return order }}, l)
		checkBoxes(t, x, l)
		var running []*v1.Pod
		loose := 0
		for step := range 1500 {
			i := int32(r.IntN(s.Len()))
			switch r.IntN(8) {
			case 0: // the node offers something else
				require.NoError(t, s.Set(testkit.Node(s.Node(int(i)).Name).Capacity(pick(r, "cpu=8,memory=16Gi,pods=20", "cpu=4,pods=5", "cpu=6,memory=9Gi")).Obj()))
			case 1:
				l.group[i] = int32(r.IntN(4)) - 1
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
			x.update(i, l.group[i])
			if step%20 == 0 {
				loose += checkBoxes(t, x, l)
			}
		}
		require.Positive(t, loose, "some bounds were too wide for a while")
	}
}

// A node that comes to a free slot gets a box, also when no box of its group and offer is there yet.
func TestBoxOfANewGroup(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n0").Capacity("cpu=8").Obj(), testkit.Node("n1").Capacity("cpu=4").Obj()}})
	require.NoError(t, err)
	l := &layout{group: []int32{0, -1}}
	x := newTree(&Engine{log: s, order: func() []int { return []int{0} }}, l)
	x.rank = []int32{0, 1}
	checkBoxes(t, x, l)
	l.group[1] = 1
	x.update(1, 1)
	checkBoxes(t, x, l)
	require.NotNil(t, x.leaf[1])
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// checkBoxes checks all boxes against the rows, and returns how many of them have bounds that may be too wide.
func checkBoxes(t *testing.T, x *tree, l *layout) (loose int) {
	var slots int32
	for g, o := range x.groups {
		for key, k := range o.index {
			loose += checkBox(t, x, o.boxes[k], nil, func(i int32) {
				slots++
				row := x.rowOf(i)
				equal(t, int32(g), l.group[i], "group of slot %d", i)
				equal(t, key, string(appendOffer(nil, &row)), "offer of slot %d", i)
			})
		}
	}
	for i, g := range l.group {
		if g < 0 {
			require.Nil(t, x.leaf[i], "a free slot is in no box")
		} else {
			slots--
		}
	}
	require.Zero(t, slots, "each slot is in one box")
	return loose
}

func checkBox(t *testing.T, x *tree, b, parent *box, slot func(i int32)) (loose int) {
	require.Same(t, parent, b.parent)
	var count int32
	first := int32(math.MaxInt32)
	var tight bounds
	inner := func(i int32) {
		count++
		first = min(first, x.rank[i])
		slot(i)
	}
	if b.divided {
		require.Empty(t, b.slots)
		for at, c := range b.children {
			if c == nil {
				continue
			}
			equal(t, b.level+1, c.level)
			loose += checkBox(t, x, c, b, func(i int32) {
				row := x.rowOf(i)
				equal(t, at, row.placeAt(b.level), "child of slot %d", i)
				inner(i)
			})
			if c.count > 0 {
				tight = union(tight, c.bounds)
			}
		}
	} else {
		require.True(t, len(b.slots) <= crowded || b.level == levels, "%d slots in a box of level %d", len(b.slots), b.level)
		require.True(t, slices.IsSortedFunc(b.slots, func(i, k int32) int { return int(x.rank[i] - x.rank[k]) }), "slots in scan order")
		for _, i := range b.slots {
			require.Same(t, b, x.leaf[i])
			tight = union(tight, x.rowOf(i))
			inner(i)
		}
	}
	equal(t, count, b.count)
	if count == 0 {
		return loose
	}
	require.LessOrEqual(t, b.first, first)
	require.LessOrEqual(t, b.loose, count/2+8)
	equal(t, width(b.bounds), width(union(b.bounds, tight)), "the bounds hold all rows")
	if b.loose > 0 {
		return loose + 1
	}
	equal(t, width(tight), width(b.bounds), "bounds that nothing has left since they were made")
	return loose
}

// union returns the least and the most of two bounds. The zero value is no bounds.
func union(a, b bounds) bounds {
	if a.allocatable[0] == nil {
		return b
	}
	out := bounds{cpu: [2]int64{min(a.cpu[0], b.cpu[0]), max(a.cpu[1], b.cpu[1])}, memory: [2]int64{min(a.memory[0], b.memory[0]), max(a.memory[1], b.memory[1])}}
	for c := range max(len(a.allocatable[0]), len(b.allocatable[0]), len(a.requested[0]), len(b.requested[0])) {
		for k, of := range []func(x, y int64) int64{func(x, y int64) int64 { return min(x, y) }, func(x, y int64) int64 { return max(x, y) }} {
			out.allocatable[k] = append(out.allocatable[k], of(a.allocatable[k].At(c), b.allocatable[k].At(c)))
			out.requested[k] = append(out.requested[k], of(a.requested[k].At(c), b.requested[k].At(c)))
		}
	}
	return out
}

// width returns the numbers of bounds without zeros at the end of rows.
func width(b bounds) string {
	trim := func(v resources.Vector) resources.Vector {
		for len(v) > 0 && v[len(v)-1] == 0 {
			v = v[:len(v)-1]
		}
		return v
	}
	return fmt.Sprint(trim(b.allocatable[0]), trim(b.allocatable[1]), trim(b.requested[0]), trim(b.requested[1]), b.cpu, b.memory)
}

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
	row := bounds{allocatable: [2]resources.Vector{{100, 1000}}, cpu: [2]int64{60, 90}, memory: [2]int64{60, 900}}
	require.Equal(t, 2, row.placeAt(0), "much of the cpu and little of the memory is in use")
	row.cpu[0], row.memory[0] = 10, 600
	require.Equal(t, 1, row.placeAt(0))
}

// Nodes offer about the same when the five leading bits of every amount are equal.
func TestAppendOffer(t *testing.T) {
	key := func(amounts ...int64) string {
		return string(appendOffer(nil, &bounds{allocatable: [2]resources.Vector{amounts}}))
	}
	require.Equal(t, key(0b10101_000), key(0b10101_111))
	require.NotEqual(t, key(0b10101_000), key(0b10110_000))
	require.NotEqual(t, key(0b10101_000), key(0b10101_0000))
	require.NotEqual(t, key(0, 1), key(1, 0))
	require.NotEqual(t, key(0, 1), key(1))
	require.Equal(t, key(1), key(1, 0, 0), "a row may end early")
	require.Equal(t, key(-1, 1), key(0, 1))
	require.Equal(t, "ab"+key(7), string(appendOffer([]byte("ab"), &bounds{allocatable: [2]resources.Vector{{7}}})))
}

func TestHeap(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	const slots = 60
	var h heap
	where := slices.Repeat([]int32{-1}, slots)
	keys := map[int32]int64{}
	for i := range int32(30) {
		keys[i] = r.Int64N(50)
		h = append(h, heapEntry{keys[i], i})
	}
	h.order(where)
	for range 3000 {
		for i, e := range h {
			equal(t, keys[e.slot], e.key)
			equal(t, int32(i), where[e.slot])
			equal(t, true, i == 0 || h[(i-1)/fan].key >= e.key, "no entry is above a larger one")
		}
		require.Len(t, h, len(keys))
		slot, key := int32(r.IntN(slots)), r.Int64N(50)
		switch at := where[slot]; {
		case at < 0:
			h.push(heapEntry{key, slot}, where)
			keys[slot] = key
		case r.IntN(2) == 0:
			h.set(int(at), key, where)
			keys[slot] = key
		default:
			h.remove(int(at), where)
			delete(keys, slot)
			require.Equal(t, int32(-1), where[slot])
		}
	}
}
