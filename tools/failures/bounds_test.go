package failures

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// -steps and -time leave scenarios out, and the answer says how many. A search for headroom that was ended proves nothing more.
func TestBounds(t *testing.T) {
	_, all, _ := failing("", "-f", shipped)
	require.NotContains(t, all, "not tried")
	code, out, errs := failing("", "-f", shipped, "-steps", "2")
	require.Zero(t, code, errs)
	require.Regexp(t, `^2 scenarios, (?s:.*)\n\nnot tried: [1-9][0-9]* scenarios; --time and --steps say how long to search\n$`, out)
	code, out, errs = failing("", "-f", shipped, "-headroom", "-time", "1ns", "-o", "yaml")
	require.Zero(t, code, errs)
	require.Regexp(t, `(?m)^  untried: [1-9]`, out)
	require.Regexp(t, `(?m)^  survives: 0$`, out)
	require.Regexp(t, `(?m)^  limited: true$`, out)
	for _, wrong := range [][]string{{"-steps", "0"}, {"-time", "-1s"}} {
		code, _, errs = failing("", append(wrong, "-f", shipped)...)
		require.Equal(t, 2, code)
		require.Contains(t, errs, wrong[0]+": Invalid value: ")
	}
}
