package testkit

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBytes(t *testing.T) {
	b := NewBytes([]byte{7, 255, 3, 1})
	require.Equal(t, 2, b.Below(5))
	require.Equal(t, byte(255), b.Next())
	require.True(t, b.OneIn(4))
	require.Equal(t, "b", Pick(b, "a", "b", "c"))
	require.Equal(t, "a", Pick(b, "a", "b", "c"), "0 after the last byte")
	require.False(t, b.OneIn(2))
	require.True(t, b.OneIn(1))
	require.Panics(t, func() { b.Below(0) })
	require.Panics(t, func() { b.Below(257) })
	require.Equal(t, RandomBytes(3, 20), RandomBytes(3, 20))
	require.NotEqual(t, RandomBytes(3, 20), RandomBytes(4, 20))
}
