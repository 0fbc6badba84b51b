package testkit

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// README lists the settled packages. Every other package of the library, but the entrance, says in its first sentence that it is
// experimental.
func TestSettledPackages(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	listed := regexp.MustCompile("(?s)The settled packages are (.*?): ").FindSubmatch(readme)
	require.NotNil(t, listed, "README.md lists the settled packages")
	var settled []string
	for _, m := range regexp.MustCompile("`([a-z/]+)`").FindAllSubmatch(listed[1], -1) {
		settled = append(settled, string(m[1]))
	}
	own, _ := library(t)
	var found []string
	for _, p := range own {
		folder := strings.TrimPrefix(p.ImportPath, module+"/")
		said := strings.HasPrefix(p.Doc, "Package "+p.Name+" (experimental) ")
		switch {
		case slices.Contains(settled, folder):
			found = append(found, folder)
			require.False(t, said, "%s is settled and says that it is experimental", folder)
		case p.ImportPath != module:
			require.True(t, said, "%s is not among the settled packages of README.md: its first sentence begins with \"Package %s (experimental)\"", folder, p.Name)
		}
	}
	require.ElementsMatch(t, settled, found)
	for _, folder := range []string{"devices/cel", "scheduler", "scheduler/live", "tools"} {
		for _, p := range docsOf(t, folder) {
			require.True(t, strings.HasPrefix(p.Doc, "Package "+p.Name+" (experimental) "), "%s says in its first sentence that it is experimental: %q", p.ImportPath, p.Doc)
		}
	}
}

// docsOf returns the packages of a module that others can import.
func docsOf(t *testing.T, folder string) (found []goPackage) {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Name,Doc", "./...")
	cmd.Dir = filepath.Join(root, folder)
	out, err := cmd.Output()
	require.NoError(t, err)
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p goPackage
		require.NoError(t, dec.Decode(&p))
		if p.Name != "main" && !strings.Contains(p.ImportPath, "/internal/") {
			found = append(found, p)
		}
	}
	require.NotEmpty(t, found)
	return found
}
