package nodeorder_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/nodeorder"
)

// Every criterion is in the order, once.
func TestDefaultHasEveryCriterion(t *testing.T) {
	seen := map[nodeorder.Criterion]bool{}
	for _, c := range nodeorder.Default {
		require.Less(t, int(c), len(nodeorder.Default))
		require.False(t, seen[c], c)
		seen[c] = true
	}
}

func TestWeight(t *testing.T) {
	require.EqualValues(t, 0, nodeorder.Weight(math.MinInt32))
	require.EqualValues(t, math.MaxUint32, nodeorder.Weight(math.MaxInt32))
}
