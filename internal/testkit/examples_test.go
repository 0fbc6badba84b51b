package testkit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// withInternal has the files with examples that import an internal package. No file is added.
var withInternal = map[string]bool{
	"affinity/example_test.go":            true,
	"eviction/disruption/example_test.go": true,
	"eviction/example_test.go":            true,
	"eviction/pressure/example_test.go":   true,
	"eviction/taint/example_test.go":      true,
	"placement/example_test.go":           true,
	"placement/example_volumes_test.go":   true,
}

// What a reader sees as an example compiles in the reader's own module: files of examples import no internal package. A file
// of examples has the word example in its name, or is of an external test package and has an Example function.
func TestExamplesCompileForReaders(t *testing.T) {
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (d.Name() == "conformance" || d.Name() == "testkit" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if !strings.Contains(filepath.Base(name), "example") && !hasExample(f) {
			return nil
		}
		for _, spec := range f.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if strings.HasPrefix(imp, module+"/") && strings.Contains(imp+"/", "/internal/") && !withInternal[name] {
				t.Errorf("%s has examples and imports %s, which its readers cannot", name, imp)
			}
		}
		return nil
	}))
}

// hasExample reports whether a file of an external test package declares an Example function.
func hasExample(f *ast.File) bool {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Example") && strings.HasSuffix(f.Name.Name, "_test") {
			return true
		}
	}
	return false
}
