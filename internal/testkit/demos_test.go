package testkit

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	largestDemo  = 250  // lines of the one file of a demo
	largestDemos = 4000 // lines of all Go files in examples/ together
)

// A demo is one file that a reader can copy: a folder of examples/ has one Go file beside its tests, the file is short and imports
// nothing internal. A test holds what the demo prints.
func TestDemos(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(root, "examples", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	total := 0
	for _, folder := range folders {
		name := filepath.Base(folder)
		require.NotEqual(t, ".go", filepath.Ext(name), "%s: a demo has a folder", name)
		if name == "testdata" {
			continue
		}
		var demos []string
		prints := false
		require.NoError(t, filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" {
				return err
			}
			source, err := os.ReadFile(path)
			require.NoError(t, err)
			lines := bytes.Count(source, []byte("\n"))
			total += lines
			if strings.HasSuffix(path, "_test.go") {
				prints = prints || bytes.Contains(source, []byte("\t// Output:"))
				return nil
			}
			demos = append(demos, path)
			require.LessOrEqual(t, lines, largestDemo, path)
			f, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ImportsOnly)
			require.NoError(t, err)
			for _, spec := range f.Imports {
				imp, err := strconv.Unquote(spec.Path.Value)
				require.NoError(t, err)
				require.NotContains(t, strings.Split(imp, "/"), "internal", "%s imports %s, which its readers cannot", path, imp)
			}
			return nil
		}))
		require.Equal(t, []string{filepath.Join(folder, name+".go")}, demos, "the files of a demo")
		require.True(t, prints, "%s: no test holds what the demo prints", name)
	}
	require.LessOrEqual(t, total, largestDemos, "lines of examples/")
}
