package testkit

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	if changed := lines(string(want), got); changed != "" {
		t.Fatalf("%s changes (- is the file, + is what the test prints; -rewrite writes it, -answers DIR writes what is behind hashes):\n%s", file, changed)
	}
}

// mostLines is how many lines of a difference are shown.
const mostLines = 60

// lines returns the lines of two texts that differ, with what stands around them; "" for equal texts.
func lines(want, got string) string {
	if want == got {
		return ""
	}
	shown := strings.Split(cmp.Diff(strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")), "\n")
	if more := len(shown) - mostLines; more > 0 {
		shown = append(shown[:mostLines], fmt.Sprintf("... and %d more lines", more))
	}
	return strings.Join(shown, "\n")
}
