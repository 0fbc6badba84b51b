package testkit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Printed tests that an output file of a program has every line of the blocks of a page of docs/. Output files are
// testdata/*.table in the folders that the pattern names. Spaces do not count. A line … leaves lines out. Blocks of Go code and
// lines with commands are no output.
func Printed(t *testing.T, page, folders string) {
	t.Helper()
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	lines := map[string]bool{"…": true}
	tables, err := filepath.Glob(filepath.Join(folders, "testdata", "*.table"))
	require.NoError(t, err)
	for _, file := range tables {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			lines[words(line)] = true
		}
	}
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	blocks, compared := strings.Split(string(text), "```"), 0
	for i := 1; i < len(blocks); i += 2 {
		if strings.HasPrefix(blocks[i], "go\n") {
			continue
		}
		for line := range strings.Lines(blocks[i]) {
			if line = words(line); line != "" && !strings.HasPrefix(line, "go run ./cmd/podberth") {
				require.True(t, lines[line], "%s: no program prints this line: %s", page, line)
				compared++
			}
		}
	}
	require.Greater(t, compared, 20, "%s has too few lines of output", page)
}
