package key

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A frame needs no memory but room for its bytes.
func TestFramesAllocateNothing(t *testing.T) {
	room := make([]byte, 0, 1<<10)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		dst := room
		for _, n := range []int{0, 1, 127, 128, 300} {
			at := len(dst)
			dst = Close(Open(dst)[:at+1+n], at)
		}
	}))
}
