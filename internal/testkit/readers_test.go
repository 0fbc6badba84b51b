package testkit

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An example compiles in the module of its reader, because files of examples import no internal package. A file of examples stands
// in examples/, has the word example in its name, or belongs to an external test package and has an Example function. Every package
// that can be imported has an example whose output is checked.
func TestExamplesCompileForReaders(t *testing.T) {
	runs, packages := map[string]bool{}, map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (d.Name() == "conformance" || d.Name() == "adapters" || d.Name() == "testkit" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		reader := strings.HasPrefix(name, "examples/") || strings.Contains(filepath.Base(name), "example") || hasExample(f)
		for _, spec := range f.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if reader && strings.HasPrefix(imp, module+"/") && strings.Contains(imp+"/", "/internal/") {
				t.Errorf("%s has examples and imports %s, which its readers cannot", name, imp)
			}
		}
		if !strings.HasSuffix(path, "_test.go") {
			packages[filepath.ToSlash(filepath.Dir(name))] = f.Name.Name
			return nil
		}
		for _, e := range doc.Examples(f) {
			runs[filepath.ToSlash(filepath.Dir(name))] = runs[filepath.ToSlash(filepath.Dir(name))] || e.Output != "" || e.EmptyOutput
		}
		return nil
	}))
	for folder, name := range packages {
		if name != "main" && !strings.Contains(folder+"/", "internal/") && !runs[folder] {
			t.Errorf("package %s has no example that runs", folder)
		}
	}
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
