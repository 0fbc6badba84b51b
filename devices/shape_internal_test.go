package devices

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// When a shape has too many classes, it begins again with the first.
func TestClassesBounded(t *testing.T) {
	sh := &shape{classes: map[string]int32{}}
	of := func(k int) int32 { return sh.class(binary.AppendUvarint(nil, uint64(k))) }
	for k := range maxClasses {
		require.EqualValues(t, k, of(k))
	}
	require.EqualValues(t, 7, of(7))
	require.EqualValues(t, 0, of(maxClasses))
	require.EqualValues(t, 1, of(7), "the earlier number has no answer any more")
	require.Len(t, sh.answers, 2)
}
