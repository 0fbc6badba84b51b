package score

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

func TestShape(t *testing.T) {
	type test struct {
		name  string
		shape []Point
		want  map[int64]int64
	}
	testkit.Run(t, []test{
		{"falling", []Point{{10, 10}, {90, 0}}, map[int64]int64{-1: 100, 0: 100, 10: 100, 11: 99, 50: 50, 89: 2, 90: 0, 100: 0}},
		{"rising to a plateau", []Point{{0, 0}, {3, 10}, {50, 10}, {100, 7}}, map[int64]int64{1: 33, 2: 66, 3: 100, 60: 94, 100: 70}},
		{"one point", []Point{{30, 4}}, map[int64]int64{0: 40, 30: 40, 100: 40}},
	}, func(t *testing.T, tc test) {
		s := compileShape(tc.shape)
		for percent, want := range tc.want {
			require.Equal(t, want, s.at(percent), "utilization %d", percent)
		}
	})
}
