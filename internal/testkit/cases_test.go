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

// Run is the one way to run the cases of a table: no test gives t.Run the field name of a case, and no test ranges over a
// table literal whose cases have a name or a reason.
func TestTablesUseRun(t *testing.T) {
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "conformance" {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, "Test") {
				for _, at := range loopsOverCases(fn) {
					t.Errorf("%s: testkit.Run runs the cases of a table", fset.Position(at))
				}
			}
		}
		return nil
	}))
}

// loopsOverCases returns where a test runs named cases without Run.
func loopsOverCases(fn *ast.FuncDecl) (found []token.Pos) {
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if run, ok := n.Fun.(*ast.SelectorExpr); ok && run.Sel.Name == "Run" && len(n.Args) == 2 && readsName(n.Args[0]) {
				if x, ok := run.X.(*ast.Ident); ok && x.Name == "t" {
					found = append(found, n.Pos())
				}
			}
		case *ast.RangeStmt:
			if table, ok := n.X.(*ast.CompositeLit); ok && hasNames(table.Type) {
				found = append(found, n.Pos())
			}
		}
		return true
	})
	return found
}

// readsName reports whether e contains a selector of the field name.
func readsName(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "name" {
			found = true
		}
		return true
	})
	return found
}

// hasNames reports whether typ is a slice of structs written in place that have the field name or why.
func hasNames(typ ast.Expr) bool {
	list, ok := typ.(*ast.ArrayType)
	if !ok {
		return false
	}
	c, ok := list.Elt.(*ast.StructType)
	return ok && slices.ContainsFunc(c.Fields.List, func(f *ast.Field) bool {
		return slices.ContainsFunc(f.Names, func(n *ast.Ident) bool { return n.Name == "name" || n.Name == "why" })
	})
}

func TestLoopsOverCases(t *testing.T) {
	type test struct {
		name, body string
		want       int
	}
	Run(t, []test{
		{"name", `for _, c := range cases { t.Run(c.name, nil) }`, 1},
		{"name and more", `for _, c := range cases { t.Run(c.name+" table", nil) }`, 1},
		{"literal with reasons", `for _, c := range []struct{ pod, why string }{} { println(c.pod) }`, 1},
		{"literal without names", `for _, c := range []struct{ pod string }{} { println(c.pod) }`, 0},
		{"a subtest", `t.Run("table", nil)`, 0},
		{"the runner", `testkit.Run(t, []struct{ name string }{}, nil)`, 0},
	}, func(t *testing.T, c test) {
		f, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc Test(t *testing.T) {"+c.body+"}", 0)
		require.NoError(t, err)
		require.Len(t, loopsOverCases(f.Decls[0].(*ast.FuncDecl)), c.want)
	})
}
