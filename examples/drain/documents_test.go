package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every line of output in docs/eviction.md is a line of the shipped output, blanks aside.
func TestDocumentation(t *testing.T) {
	lines := map[string]bool{"…": true}
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	tables, err := filepath.Glob("../*/testdata/*.table")
	require.NoError(t, err)
	for _, file := range tables {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			lines[words(line)] = true
		}
	}
	text, err := os.ReadFile("../../docs/eviction.md")
	require.NoError(t, err)
	blocks := strings.Split(string(text), "```")
	require.Greater(t, len(blocks), 10)
	for i := 1; i < len(blocks); i += 2 {
		for line := range strings.Lines(blocks[i]) {
			if line = words(line); line != "" && !strings.HasPrefix(line, "go run ./examples/") {
				require.True(t, lines[line], "not printed by any program: %s", line)
			}
		}
	}
}
