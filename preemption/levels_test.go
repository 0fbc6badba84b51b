package preemption

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Levels have one step of each priority, the highest first, and use the memory of an earlier fill again.
func TestLevels(t *testing.T) {
	var l levels
	for range 2 {
		for _, p := range []int32{5, 1, 9, 5, 1, 1} {
			s := l.at(p)
			require.Equal(t, p, s.priority)
			s.sum = s.sum.Grow(2)
			s.sum[1]++
		}
		require.Len(t, l.steps, 3)
		for k, want := range []struct {
			priority int32
			n        int64
		}{{9, 1}, {5, 2}, {1, 3}} {
			require.Equal(t, want.priority, l.steps[k].priority)
			require.Equal(t, want.n, l.steps[k].sum[1], "the sum begins at 0")
		}
		l.steps = l.steps[:0]
	}
	fill := func() {
		for _, p := range []int32{9, 5, 1} {
			s := l.at(p)
			s.sum = s.sum.Grow(2)
		}
		l.steps = l.steps[:0]
	}
	require.Zero(t, testing.AllocsPerRun(10, fill))
}
