package history

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/filter"
)

func TestNumToFind115(t *testing.T) {
	require.Equal(t, 50, NumToFind115(5000, 1), "the minimum is 50")
	require.Equal(t, 49, NumToFind115(49, 0), "below the minimum all nodes are looked at")
	require.Equal(t, 50, NumToFind115(60, 0), "50% of 60 is below the minimum")
	require.Equal(t, 5000, NumToFind115(5000, 150), "a percentage above 100 counts as 100")
	for n := 250; n < 20000; n += 7 {
		require.Equal(t, filter.NumToFind(n, filter.Sampling{}), NumToFind115(n, 0), "the percentage is that of v1.36: %d nodes", n)
	}
}
