package testkit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A golden file that changes shows the lines that do, and not the whole file.
func TestLinesThatChange(t *testing.T) {
	var all []string
	for k := range 1000 {
		all = append(all, fmt.Sprint("line ", k))
	}
	want := strings.Join(all, "\n")
	require.Empty(t, lines(want, want))
	all[500] = "another"
	one := lines(want, strings.Join(all, "\n"))
	require.Regexp(t, `(?m)^-[\s\x{a0}]+"line 500\\n",$`, one)
	require.Regexp(t, `(?m)^\+[\s\x{a0}]+"another\\n",$`, one)
	require.Less(t, strings.Count(one, "\n"), 15)
	require.NotContains(t, one, "line 100")
	many := lines(want, strings.ToUpper(want))
	require.LessOrEqual(t, strings.Count(many, "\n"), mostLines)
	require.Contains(t, many, "more lines")
	require.NotEmpty(t, lines("a", "a\n"))
}
