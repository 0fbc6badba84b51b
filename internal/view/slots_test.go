package view

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A set has what a map has.
func TestSlots(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	var s Slots
	want := map[int]bool{}
	require.False(t, s.Has(70))
	s.Remove(70)
	for range 2000 {
		switch i := r.IntN(300); r.IntN(3) {
		case 0:
			s.Add(i)
			want[i] = true
		case 1:
			s.Remove(i)
			delete(want, i)
		default:
			require.Equal(t, want[i], s.Has(i))
		}
		require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Collect(s.All()))
	}
	first := -1
	for i := range s.All() {
		first = i
		break
	}
	require.Equal(t, slices.Min(slices.Collect(maps.Keys(want))), first)
}
