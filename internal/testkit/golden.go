package testkit

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write what the tests print now into testdata")

// Golden compares got with the contents of file. With -rewrite it first writes got into file.
func Golden(t *testing.T, file, got string) {
	t.Helper()
	if *rewrite {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// AtMost compares numbers with those of file, which has a name and a number in each line. No number may be larger by more than a
// tenth, and no name new. With -rewrite it first writes the numbers into file.
func AtMost(t *testing.T, file string, got map[string]int) {
	t.Helper()
	if *rewrite {
		var out strings.Builder
		for _, name := range slices.Sorted(maps.Keys(got)) {
			fmt.Fprintf(&out, "%s: %d\n", name, got[name])
		}
		require.NoError(t, os.WriteFile(file, []byte(out.String()), 0o644))
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	most := map[string]int{}
	for line := range strings.Lines(string(text)) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), ": ")
		most[name], err = strconv.Atoi(number)
		require.NoError(t, err)
	}
	for name, n := range got {
		require.LessOrEqual(t, n, most[name]+most[name]/10, name)
	}
}
