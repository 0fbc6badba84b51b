package testkit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	type test struct {
		name, why string
		cases     []struct{ name, why string }
		want      string
	}
	ran := 0
	Run(t, []test{
		{"good", "every case has a name of its own and a reason", []struct{ name, why string }{{"a", "x"}, {"b", "x"}}, ""},
		{"empty", "a table without cases tests nothing", nil, "the table has no cases"},
		{"no name", "a failure must say which case it is", []struct{ name, why string }{{"", "x"}}, "a case has no name"},
		{"twice", "tables of rules name a test by its case", []struct{ name, why string }{{"a", "x"}, {"a", "y"}}, "two cases are called a"},
		{"no reason", "a reader must know why the answer is right", []struct{ name, why string }{{"a", ""}}, "case a has no reason"},
	}, func(t *testing.T, c test) {
		ran++
		_, _, got := labels(c.cases)
		require.Equal(t, c.want, got)
	})
	require.Equal(t, 5, ran)
	_, _, got := labels([]struct{ name string }{{"a"}, {"b"}})
	require.Empty(t, got, "the names say the reasons")
	_, _, got = labels([]struct{ why string }{{"a"}})
	require.Equal(t, "a case is a struct with the string field name", got)
}

// The folders whose tables are all run by Run.
var withRun = []string{"affinity", "devices", "eviction", "score", "spread", "taints"}

// Run is the one way to run the cases of a table by their names.
func TestTablesUseRun(t *testing.T) {
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "conformance" || d.Name() == "testkit") {
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		}
		name, err := filepath.Rel(root, path)
		folder, _, _ := strings.Cut(filepath.ToSlash(name), "/")
		if err != nil || !strings.HasSuffix(path, "_test.go") || !slices.Contains(withRun, folder) {
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return true
			}
			run, isMethod := call.Fun.(*ast.SelectorExpr)
			field, isField := call.Args[0].(*ast.SelectorExpr)
			if isMethod && isField && run.Sel.Name == "Run" && field.Sel.Name == "name" {
				if x, ok := run.X.(*ast.Ident); ok && x.Name == "t" {
					t.Errorf("%s: testkit.Run runs the cases of a table", fset.Position(n.Pos()))
				}
			}
			return true
		})
		return nil
	}))
}
