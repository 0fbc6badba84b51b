package testkit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every mutation of conformance/mutate quotes text that stands once in its file: a mutation whose text has gone tests nothing.
func TestMutationsQuote(t *testing.T) {
	list, err := os.ReadFile(filepath.Join(root, "conformance/mutate/mutations.txt"))
	require.NoError(t, err)
	texts, count := map[string]string{}, 0
	for n, line := range strings.Split(string(list), "\n") {
		f := strings.Split(line, "\t")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		require.Len(t, f, 6, "line %d", n+1)
		text, ok := texts[f[0]]
		if !ok {
			source, err := os.ReadFile(filepath.Join(root, f[0]))
			require.NoError(t, err, "line %d", n+1)
			text = string(source)
			texts[f[0]] = text
		}
		old := strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(f[3])
		if got := strings.Count(text, old); got != 1 {
			t.Errorf("line %d: %s has %q %d times, want once", n+1, f[0], old, got)
		}
		count++
	}
	require.Greater(t, count, 100)
}
