package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// No help has words that run together, as "only" and "pending" did. A test of each program compares its help with its file.
func TestWordsOfHelps(t *testing.T) {
	files, err := filepath.Glob("../*/testdata/help.txt")
	require.NoError(t, err)
	require.Greater(t, len(files), 8)
	var all strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		all.Write(data)
	}
	require.Empty(t, testkit.JoinedWords(all.String()))
	require.Equal(t, []string{"onlypending"}, testkit.JoinedWords("pods only, onlypending, pending"))
}
