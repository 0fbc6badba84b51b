package heap

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/view"
)

// An entry of a heap goes no further than it must: entries of equal keys stay where they are.
func TestHeapTies(t *testing.T) {
	var h Heap
	where := []int32{-1, -1, -1, -1, -1, -1, -1}
	slots := func() (list []int32) {
		for _, e := range h {
			list = append(list, e.Slot)
		}
		return list
	}
	for slot := range int32(6) {
		h.Push(Entry{5, slot}, where)
	}
	require.Equal(t, []int32{0, 1, 2, 3, 4, 5}, slots(), "an entry does not pass an equal one on its way up")
	h.Set(0, 5, where)
	require.Equal(t, []int32{0, 1, 2, 3, 4, 5}, slots(), "nor on its way down")
	require.Equal(t, Entry{5, 1}, h.Best(Skip{Slots: view.Slots{1}}), "of equal entries that count the first is the best")
	h.Set(0, 4, where)
	require.Equal(t, []int32{1, 5, 2, 3, 4, 0}, slots(), "of equal entries the first goes up")
	require.Equal(t, []int32{5, 0, 2, 3, 4, 1, -1}, where)
}

func TestHeap(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	const slots = 60
	var h Heap
	where := slices.Repeat([]int32{-1}, slots)
	keys := map[int32]int64{}
	for i := range int32(30) {
		keys[i] = r.Int64N(50)
		h = append(h, Entry{keys[i], i})
	}
	h.Order(where)
	for range 3000 {
		for i, e := range h {
			require.Equal(t, keys[e.Slot], e.Key, "position %d", i)
		}
		require.NoError(t, h.Valid(where))
		require.Len(t, h, len(keys))
		slot, key := int32(r.IntN(slots)), r.Int64N(50)
		switch at := where[slot]; {
		case at < 0:
			h.Push(Entry{key, slot}, where)
			keys[slot] = key
		case r.IntN(2) == 0:
			h.Set(int(at), key, where)
			keys[slot] = key
		default:
			h.Remove(int(at), where)
			delete(keys, slot)
			require.Equal(t, int32(-1), where[slot])
		}
	}
}

// A key orders by score, and by place among equal scores.
func TestKey(t *testing.T) {
	keys := []int64{Key(0, 5), Key(0, 0), Key(7, 1<<20), Key(7, 3), Key(1<<31-1, 9)}
	require.True(t, slices.IsSorted(keys), "%v", keys)
	for _, key := range keys {
		require.True(t, Fits(key))
		require.Equal(t, key, Key(Score(key), int32(Place(key))))
		require.Equal(t, Entry{Key(Score(key), int32(Place(key))+4), 1}, Entry{key, 1}.Later(4))
	}
	require.False(t, Fits(-1))
}

// Best and Flip say what a look at every entry says.
func TestWalks(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		n := 1 + r.IntN(60)
		var h Heap
		at, skip := slices.Repeat([]int32{-1}, n), Skip{Marked: slices.Repeat([]int32{-1}, n)}
		want, counts := Entry{Key: -1}, 0
		for i := range int32(n) {
			h.Push(Entry{Key(r.Int64N(6), i), i}, at)
			switch {
			case i > 0 && r.IntN(4) == 0:
				skip.Marked[i] = r.Int32N(3)
			case i > 0 && r.IntN(4) == 0:
				skip.Slots.Add(int(i))
			default:
				counts++
			}
		}
		for _, e := range h {
			if !skip.has(e.Slot) && e.Key > want.Key {
				want = e
			}
		}
		require.Equal(t, want, h.Best(skip))
		flipped := uint64(5)
		for _, e := range h {
			if Score(e.Key) == 3 {
				flipped ^= 1 << Place(e.Key)
			}
		}
		bits := []uint64{5}
		h.Flip(3, bits)
		require.Equal(t, flipped, bits[0])
		require.Positive(t, counts)
	}
}

// A position that is not that of its slot, and an entry above a larger one, are found.
func TestValid(t *testing.T) {
	h, at := Heap{{5, 0}, {3, 1}}, []int32{0, 1}
	require.NoError(t, h.Valid(at))
	require.Error(t, h.Valid([]int32{1, 0}))
	h[1].Key = 9
	require.Error(t, h.Valid(at))
}

// BenchmarkSet changes the key of one of 5,000 entries.
func BenchmarkSet(b *testing.B) {
	const n = 5000
	r := rand.New(rand.NewPCG(7, 9))
	var h Heap
	at := make([]int32, n)
	for i := range int32(n) {
		h.Push(Entry{Key(r.Int64N(300), i), i}, at)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		slot := int32(i % n)
		h.Set(int(at[slot]), Key(int64(i*7%300), slot), at)
	}
	require.NoError(b, h.Valid(at))
}
