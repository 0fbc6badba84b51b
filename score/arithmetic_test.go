package score

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// Products that an int64 does not hold are divided exactly, and results beyond int64 are the end of int64.
func TestMulDiv(t *testing.T) {
	type test struct {
		name            string
		n, by, of, want int64
	}
	testkit.Run(t, []test{
		{"small", 7, 3, 2, 10},
		{"toward zero", -7, 3, 2, -10},
		{"large product", math.MaxInt64, 100, math.MaxInt64, 100},
		{"quotient of 64 bits and more", 1 << 40, 1 << 24, 1, math.MaxInt64},
		{"the same below zero", -1 << 40, 1 << 24, 1, math.MinInt64},
		{"the largest but one", -math.MaxInt64, 1, 1, -math.MaxInt64},
		{"a small factor and a huge", 3, math.MaxInt64 / 2, 1, math.MaxInt64},
		{"a small factor and a huge below zero", 3, math.MinInt64 / 2, 1, math.MinInt64},
		{"minus 1 first", -1, math.MaxInt64, 1, -math.MaxInt64},
		{"minus 1 second", math.MaxInt64, -1, 1, -math.MaxInt64},
		{"the least", math.MinInt64, 1, 1, math.MinInt64},
		{"the least over minus 1", math.MinInt64, 1, -1, math.MaxInt64},
	}, func(t *testing.T, c test) { require.Equal(t, c.want, mulDiv(c.n, c.by, c.of)) })
	require.Equal(t, int64(50), share(math.MaxInt64/2+1, 100, math.MaxInt64), "the product does not fit an int64")
}
