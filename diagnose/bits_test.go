package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A set of slots is a set, whatever the number of the slot; a slot beyond its size is not in it.
func TestBits(t *testing.T) {
	for _, size := range []int{0, 1, 63, 64, 65, 127, 128, 200} {
		b, all := newBits(size), newBits(size)
		require.True(t, b.empty())
		for i := range size {
			all.add(i)
			if i%3 == 0 {
				b.add(i)
			}
			if i%6 == 0 {
				b.remove(i)
				b.remove(i)
			}
		}
		for i := range 400 {
			require.Equal(t, i < size, all.has(i), "%d of %d", i, size)
			require.Equal(t, i < size && i%6 == 3, b.has(i), "%d of %d", i, size)
		}
		require.Equal(t, size <= 3, b.empty())
		require.Equal(t, size > 3, all.and(b))
		require.Equal(t, b, all)
		require.False(t, all.and(newBits(size)))
		require.True(t, all.empty())
	}
}
