package testkit

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write what the tests print now into testdata")

// Golden compares got with the contents of file, and what is behind the test's hashes ([Hash32], [Hash64]) with the file of lines beside it.
// With -rewrite it first writes both.
func Golden(t *testing.T, file, got string) {
	t.Helper()
	behind := kept(t)
	if *rewrite {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		if behind != nil {
			require.NoError(t, os.MkdirAll(filepath.Dir(linesFile(t, file)), 0o755))
			require.NoError(t, os.WriteFile(linesFile(t, file), []byte(marks(behind)), 0o644))
		}
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	onFile, err := readLines(linesFile(t, file))
	require.NoError(t, err)
	changed, answers := lines(string(want), got), changedBehind(onFile, behind)
	if changed != "" || answers != "" {
		t.Fatalf("%s changes (- is the file, + is what the test prints; -rewrite writes it, -answers DIR writes what is behind hashes):\n%s\n%s", file, changed, answers)
	}
}

// mostLines is how many lines of a difference are shown.
const mostLines = 60

// lines returns the lines of two texts that differ, with what stands around them; "" for equal texts.
func lines(want, got string) string {
	if want == got {
		return ""
	}
	return difference(strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n"))
}

// difference returns the parts of two lists that differ, with what stands around them.
func difference(want, got []string) string {
	shown := strings.Split(cmp.Diff(want, got), "\n")
	if more := len(shown) - mostLines; more > 0 {
		shown = append(shown[:mostLines], fmt.Sprintf("... and %d more lines", more))
	}
	return strings.Join(shown, "\n")
}
