package testkit

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// README lists the settled packages. Every other package of the library, but those that only name what lies below them, says in its first
// sentence that it is experimental.
func TestSettledPackages(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	listed := regexp.MustCompile("(?s)The settled packages are (.*?): ").FindSubmatch(readme)
	require.NotNil(t, listed, "README.md lists the settled packages")
	var settled []string
	for _, m := range regexp.MustCompile("`([a-z/]+)`").FindAllSubmatch(listed[1], -1) {
		settled = append(settled, string(m[1]))
	}
	entrances := []string{module, module + "/eviction"}
	own, _ := library(t)
	var found []string
	for _, p := range own {
		folder := strings.TrimPrefix(p.ImportPath, module+"/")
		said := strings.HasPrefix(p.Doc, "Package "+p.Name+" (experimental) ")
		switch {
		case slices.Contains(settled, folder):
			found = append(found, folder)
			require.False(t, said, "%s is settled and says that it is experimental", folder)
		case !slices.Contains(entrances, p.ImportPath):
			require.True(t, said, "%s is not among the settled packages of README.md: its first sentence begins with \"Package %s (experimental)\"", folder, p.Name)
		}
	}
	require.ElementsMatch(t, settled, found)
}
