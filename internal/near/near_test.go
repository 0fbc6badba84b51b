package near

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

func TestDistance(t *testing.T) {
	type test struct {
		name, why string
		a, b      string
		want      int
	}
	testkit.Run(t, []test{
		{"equal", "nothing changes", "zone", "zone", 0},
		{"empty", "every letter is added", "", "zone", 4},
		{"letter missing", "one is added", "zne", "zone", 1},
		{"letter too many", "one is taken out", "zonee", "zone", 1},
		{"another letter", "one is replaced", "zane", "zone", 1},
		{"two letters in the other order", "two are replaced", "znoe", "zone", 2},
		{"nothing in common", "the longer name decides", "ab", "cdef", 4},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.want, Distance(c.a, c.b))
		require.Equal(t, c.want, Distance(c.b, c.a), "both ways")
	})
}
