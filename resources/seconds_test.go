package resources_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/resources"
)

func TestDuration(t *testing.T) {
	for n, want := range map[int64]time.Duration{
		0: 0, 30: 30 * time.Second, -1: -time.Second, 9223372036: 9223372036 * time.Second, 9223372037: math.MaxInt64,
		10000000000: math.MaxInt64, math.MaxInt64: math.MaxInt64, -9223372036: -9223372036 * time.Second, -9223372037: math.MinInt64, math.MinInt64: math.MinInt64,
	} {
		require.Equal(t, want, resources.Seconds(n), "%d seconds", n)
	}
}
