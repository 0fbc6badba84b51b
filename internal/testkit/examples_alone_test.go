package testkit

import (
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An example can be pasted into a file of one's own: it needs nothing but imports and its own file. go doc shows such an example as
// a whole program. Programs are left out: their examples run main.
func TestExamplesStandAlone(t *testing.T) {
	checked := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (d.Name() == "conformance" || d.Name() == "internal" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil || f.Name.Name == "main" {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		for _, e := range doc.Examples(f) {
			checked++
			if e.Play == nil {
				t.Errorf("%s: Example%s needs something of another file", filepath.ToSlash(name), e.Name)
			}
		}
		return nil
	}))
	require.Greater(t, checked, 150)
}
