package program

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// A search has a step at least, and ends at some time or never.
func TestBounds(t *testing.T) {
	type test struct{ name, flag, value, want string }
	testkit.Run(t, []test{
		{"one step", "-steps", "1", ""},
		{"no step", "-steps", "0", "-steps: Invalid value: 0: must be greater than 0"},
		{"no limit", "-time", "0", ""},
		{"a time that is over", "-time", "-1s", "-time: Invalid value: -1s: must not be negative"},
	}, func(t *testing.T, c test) {
		f := Flags(Help{Name: "x"}, io.Discard)
		b := Bounds{Steps: 10, Time: time.Minute}
		b.BoundFlags(f, "`N` steps", "a `DURATION`")
		require.NoError(t, Parse(f, []string{c.flag, c.value}))
		if c.want == "" {
			require.NoError(t, b.CheckBounds())
		} else {
			require.EqualError(t, b.CheckBounds(), c.want)
		}
	})
}
