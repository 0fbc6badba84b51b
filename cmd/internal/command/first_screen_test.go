package command_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// lacks is the first line about an owner whose pods do not exist.
var lacks = regexp.MustCompile(`^\w+ default/\S+ has \d of \d pods: `)

// The first screen of every case of the corpus of advice has at most ten lines of 80 columns, and begins with the cause.
func TestFirstScreens(t *testing.T) {
	testkit.Sequential(t)
	files, err := filepath.Glob("../../../diagnose/testdata/advice/*.yaml")
	require.NoError(t, err)
	require.Greater(t, len(files), 110)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		_, rest, _ := strings.Cut(string(text), "# ask: ")
		ask, _, _ := strings.Cut(rest, "\n")
		asked := strings.Fields(strings.NewReplacer(" -expand", " --expand", " -admit", " --admit").Replace(ask))
		_, out, _ := podberth(t, "", append([]string{"why", asked[0], "-f", file, "--width", "80"}, asked[1:]...)...)
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		require.LessOrEqual(t, len(lines), 10, "%s\n%s", file, out)
		if strings.HasPrefix(asked[0], "default/") { // no owner
			require.True(t, strings.HasPrefix(out, "Pod "+asked[0]), out)
		}
		require.True(t, strings.HasPrefix(out, "Pod ") || lacks.MatchString(out), out)
		for _, line := range lines {
			require.LessOrEqual(t, utf8.RuneCountInString(line), 80, "%s: %s", file, line)
		}
	}
}
