package testkit

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit/fidelity"
)

const (
	root   = "../.."
	module = "github.com/podberth/podberth"
)

// goPackage is a package as `go list -json` prints it.
type goPackage struct {
	ImportPath string
	Name, Doc  string
	Standard   bool
	Dir        string
	Deps       []string
	Imports    []string
}

// library returns the packages of the library. all has the packages that they import too, and those below internal. Demos
// are no part of the library.
func library(t *testing.T) (own []goPackage, all map[string]goPackage) {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Name,Doc,Standard,Dir,Deps,Imports", "./...")
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	all = map[string]goPackage{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		err := dec.Decode(&p)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		if strings.HasPrefix(p.ImportPath, module+"/examples/") {
			continue
		}
		all[p.ImportPath] = p
		if (p.ImportPath == module || strings.HasPrefix(p.ImportPath, module+"/")) && !strings.Contains(p.ImportPath, "/internal/") {
			own = append(own, p)
		}
	}
	require.NotEmpty(t, own)
	return own, all
}

// The root module requires what the design allows and nothing else.
func TestRequirements(t *testing.T) {
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = root
	out, err := cmd.Output()
	require.NoError(t, err)
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
		Replace []any
	}
	require.NoError(t, json.Unmarshal(out, &mod))
	var direct []string
	for _, r := range mod.Require {
		if !r.Indirect {
			direct = append(direct, r.Path)
		}
	}
	require.ElementsMatch(t, []string{"k8s.io/api", "k8s.io/apimachinery", "github.com/google/go-cmp", "github.com/stretchr/testify"}, direct)
	require.Empty(t, mod.Replace)
}

// forbidden maps imports that library packages must not have to the reason.
var forbidden = map[string]string{
	"log":                                 "the library logs nothing",
	"log/slog":                            "the library logs nothing",
	"net/http":                            "the library does no I/O",
	"os":                                  "the library does no I/O",
	"math/rand":                           "randomness is a parameter",
	"context":                             "nothing in the library waits",
	"sync/atomic":                         "the library holds no state that is shared and written",
	"github.com/stretchr/testify/require": "a test library",
	"github.com/google/go-cmp/cmp":        "a test library",
	"k8s.io/klog/v2":                      "the library logs nothing",
}

func TestImports(t *testing.T) {
	own, _ := library(t)
	for _, p := range own {
		for _, imp := range p.Imports {
			if reason, ok := forbidden[imp]; ok {
				t.Errorf("%s imports %s: %s", p.ImportPath, imp, reason)
			}
		}
	}
}

var vague = []string{"util", "utils", "common", "helper", "helpers", "types", "framework"}

// Library packages read no clock and start no goroutine. They have a package comment and a name that says what they do.
func TestPurityOfSource(t *testing.T) {
	own, _ := library(t)
	for _, p := range own {
		if slices.Contains(vague, p.Name) {
			t.Errorf("%s: a package is not called %s", p.ImportPath, p.Name)
		}
		documented := false
		files, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, file, nil, parser.ParseComments)
			require.NoError(t, err)
			documented = documented || f.Doc != nil
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					t.Errorf("%s: the library starts no goroutine", fset.Position(n.Pos()))
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && x.Obj == nil && slices.Contains([]string{"Now", "Since", "Until", "Sleep", "After", "NewTimer", "NewTicker"}, n.Sel.Name) {
						t.Errorf("%s: the library reads no clock", fset.Position(n.Pos()))
					}
				}
				return true
			})
			for _, d := range f.Decls {
				for _, name := range undocumented(d) {
					t.Errorf("%s: exported %s has no doc comment", fset.Position(d.Pos()), name)
				}
			}
		}
		if !documented {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

// undocumented lists the exported names that d declares without a comment. A comment on a group of constants or
// variables serves the group.
func undocumented(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && (d.Recv == nil || exportedReceiver(d.Recv)) {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && s.Doc == nil && d.Doc == nil {
					names = append(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				if s.Names[0].IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
					names = append(names, s.Names[0].Name)
				}
			}
		}
	}
	return names
}

func exportedReceiver(r *ast.FieldList) bool {
	x := r.List[0].Type
	if star, ok := x.(*ast.StarExpr); ok {
		x = star.X
	}
	if index, ok := x.(*ast.IndexExpr); ok {
		x = index.X
	}
	id, ok := x.(*ast.Ident)
	return ok && id.IsExported()
}

var ruleName = regexp.MustCompile(`(?:^|[\s(,])([A-Z]{1,2}(?:-[0-9]+[a-z]?|[0-9]+\.[0-9]+))\b`)

// A comment that names a rule ("rule S3.2", "rules S3.1 to S3.4", "quirk U10.2", "S-6") names a row of the fidelity tables.
func TestRuleNames(t *testing.T) {
	known, letters := map[string]bool{}, map[string]bool{}
	tables, err := filepath.Glob(filepath.Join(root, "docs/fidelity/*.md"))
	require.NoError(t, err)
	for _, table := range tables {
		text, err := os.ReadFile(table)
		require.NoError(t, err)
		for _, r := range fidelity.Rows(string(text)) {
			known[r.ID] = true
			letters[strings.TrimRight(r.ID, "0123456789.-abcdefghijklmnopqrstuvwxyz")] = true
		}
	}
	named := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, group := range f.Comments {
			for _, m := range ruleName.FindAllStringSubmatch(group.Text(), -1) {
				if id := m[1]; letters[strings.TrimRight(id, "0123456789.-abcdefghijklmnopqrstuvwxyz")] {
					named++
					if !known[id] {
						t.Errorf("%s: the fidelity tables have no rule %s", fset.Position(group.Pos()), id)
					}
				}
			}
		}
		return nil
	}))
	require.Greater(t, named, 100, "comments name rules")
}
