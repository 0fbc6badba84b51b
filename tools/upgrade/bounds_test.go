package upgrade

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// -steps and -time leave pods out, and the report says how many.
func TestBounds(t *testing.T) {
	_, all, _ := run(shipped("1.36", "1.37")...)
	require.NotContains(t, all, "not tried")
	for _, limit := range [][]string{{"-steps", "1"}, {"-time", "1ns"}} {
		code, out, errs := run(shipped("1.36", "1.37", limit...)...)
		require.Zero(t, code, errs)
		require.Regexp(t, `\n\nnot tried: [1-9][0-9]* pods; --time and --steps say how long to search\n$`, out)
	}
	for _, wrong := range [][]string{{"-steps", "0"}, {"-time", "-1s"}} {
		code, _, errs := run(shipped("1.36", "1.37", wrong...)...)
		require.Equal(t, 2, code)
		require.Contains(t, errs, wrong[0]+": Invalid value: ")
	}
}
