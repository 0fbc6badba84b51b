package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/engine"
)

// A list that was kept is given out once, with zeros, to who needs at least half of it.
func TestMemory(t *testing.T) {
	var m engine.Memory
	old := m.Counts(1000)
	require.Equal(t, make([]int32, 1000), old)
	for i := range old {
		old[i] = 7
	}
	m.Keep(nil)
	m.Keep(old)
	m.Keep(make([]int32, 10))
	for _, n := range []int{1001, 499} {
		require.NotSame(t, &old[0], &m.Counts(n)[0])
	}
	again := m.Counts(999)
	require.Same(t, &old[0], &again[0])
	require.Equal(t, make([]int32, 999), again)
	require.NotSame(t, &again[0], &m.Counts(999)[0])
	require.Empty(t, m.Counts(0))
	none := (*engine.Memory)(nil)
	none.Keep(old)
	require.Len(t, none.Counts(300), 300)
}

// However many lists are kept, the memory has an end, and the last ones stay: when there are more nodes, the lists before are too short.
func TestMemoryHasAnEnd(t *testing.T) {
	var m engine.Memory
	kept := map[*int32]int{}
	for k := range 1000 {
		list := make([]int32, 300)
		kept[&list[0]] = k
		m.Keep(list)
	}
	again := 0
	for range 1000 {
		if k, ok := kept[&m.Counts(300)[0]]; ok {
			require.Equal(t, 1000-32+again, k)
			again++
		}
	}
	require.Equal(t, 32, again)
}
