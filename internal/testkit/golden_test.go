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

// What is behind a hash changes in one line of 1,000: the line is shown, and not the others.
func TestLinesBehindHashes(t *testing.T) {
	write := func(name string, changed int) (all []*part) {
		for p := range 5 {
			out := &part{name: fmt.Sprint(name, p)}
			for k := range 1000 {
				if p == 2 && k == changed {
					fmt.Fprintln(&out.text, "another")
				} else {
					fmt.Fprintln(&out.text, "line", k, "of", p)
				}
			}
			all = append(all, out)
		}
		return all
	}
	file := marks(write("seed ", -1))
	require.Less(t, len(file), 5*1000)
	require.Empty(t, changedBehind(file, write("seed ", -1)))
	one := changedBehind(file, write("seed ", 500))
	require.Contains(t, one, "behind the hash of seed 2:")
	require.NotContains(t, one, "seed 1")
	require.Contains(t, one, "another")
	require.Contains(t, one, strings.TrimSpace(gone))
	require.NotContains(t, one, "line 100 of")
	require.Contains(t, changedBehind(file, write("other ", -1)), "... and 2 more parts")
	require.Empty(t, changedBehind("", nil))
}
