package testkit

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// aProgram is in a code block that is Go: a call of a package's function, or a short declaration.
var aProgram = regexp.MustCompile(`:=|\b[a-z]\w*\.[A-Z]\w*\(`)

// inputs are the names of what programs of comments are about, with their types: every comment means the same by them.
const inputs = `
var pod *v1.Pod
var node *v1.Node
var snapshot *cluster.Snapshot
var plan *placement.Plan
var now time.Time
var ctx context.Context
var t *testing.T
`

// The program in a package comment compiles. It need not declare inputs. Any other name that it does not declare may only be an
// argument, an element of a literal, what a loop ranges over, or what is assigned or returned. A line … leaves lines out.
func TestProgramsOfPackageComments(t *testing.T) {
	w, programs := compiledWorkspace(t), 0
	for folder, b := range w.own() {
		if strings.Contains("/"+folder+"/", "/internal/") {
			continue
		}
		for _, f := range b.files {
			if f.Doc == nil {
				continue
			}
			for _, block := range new(comment.Parser).Parse(f.Doc.Text()).Content {
				code, ok := block.(*comment.Code)
				if !ok || !aProgram.MatchString(code.Text) {
					continue
				}
				programs++
				for _, problem := range w.compile(b, code.Text) {
					t.Errorf("%s: the program of the package comment: %s", folder, problem)
				}
			}
		}
	}
	require.Greater(t, programs, 40)
}

// The check of programs finds what it is for.
func TestBrokenPrograms(t *testing.T) {
	w := compiledWorkspace(t)
	b := w.own()["placement"]
	for program, want := range map[string]string{
		"placer, err := placement.NewPlacer(snapshot, placement.DefaultProfile())": "",
		"p := placement.DefaultProfile()\n…\nfmt.Println(p.Filters, name())":       "undefined: name",
		"fmt.Println(d.Node)":                                                 "undefined: d",
		"placement.Nothing(snapshot)":                                         "undefined: placement.Nothing",
		"placer, err := placement.NewPlacer(snapshot)":                        "not enough arguments",
		"placer := placement.NewPlacer(snapshot, placement.DefaultProfile())": "assignment mismatch",
		"placement.NewPlacer(snapshot, placement.DefaultProfile()":            "missing ','",
		"for _, n := range nodes {\n\tfmt.Println(n)":                         "expected",
		"fmt.Println(placement.Options{Nobody: 1})":                           "unknown field Nobody",
	} {
		problems := strings.Join(w.compile(b, program), "\n")
		if want == "" {
			require.Empty(t, problems, program)
		} else {
			require.Contains(t, problems, want, program)
		}
	}
}

// compile returns what is wrong with statements that stand in a comment of b.
func (w *workspace) compile(b *built, code string) (problems []string) {
	code = regexp.MustCompile(`(?m)^\s*(…|\.\.\.)$`).ReplaceAllString(code, "")
	body := "func _() error {\n" + code + "\npanic(0)\n}"
	used, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+body+inputs, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	known := map[string]string{"v1": "k8s.io/api/core/v1", "testing": "testing", "context": "context", "time": "time"}
	imports := map[string]string{}
	ast.Inspect(used, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && s.Sel.IsExported() {
				if imp := cmp.Or(known[x.Name], w.imported(b, x.Name)); imp != "" {
					imports[x.Name] = imp
				}
			}
		}
		return true
	})
	header := "package p\n"
	for name, imp := range imports {
		header += fmt.Sprintf("import %s %q\n", name, imp)
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", header+body+inputs, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	parents := parentsOf(f)
	conf := types.Config{Importer: w.lookup, Error: func(err error) {
		e := err.(types.Error)
		if strings.HasPrefix(e.Msg, "declared and not used") || strings.Contains(e.Msg, "imported and not used") {
			return
		}
		if name, ok := strings.CutPrefix(e.Msg, "undefined: "); ok && input(parents, e.Pos, name) {
			return
		}
		line := fset.Position(e.Pos).Line - len(imports) - 2
		problems = append(problems, fmt.Sprintf("line %d: %s", line, e.Msg))
	}}
	_, _ = conf.Check("p", fset, []*ast.File{f}, nil) // conf.Error gets every error
	return problems
}

// parentsOf returns the node around each identifier of a file.
func parentsOf(f *ast.File) map[*ast.Ident]ast.Node {
	parents, stack := map[*ast.Ident]ast.Node{}, []ast.Node{}
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		if x, ok := n.(*ast.Ident); ok {
			parents[x] = stack[len(stack)-1]
		}
		stack = append(stack, n)
		return true
	})
	return parents
}

// input reports whether the name at a position is used as a value that a program gets from elsewhere.
func input(parents map[*ast.Ident]ast.Node, at token.Pos, name string) bool {
	for x, parent := range parents {
		if x.Pos() != at || x.Name != name {
			continue
		}
		switch p := parent.(type) {
		case *ast.CallExpr:
			return p.Fun != x
		case *ast.RangeStmt:
			return p.X == x
		case *ast.KeyValueExpr:
			return p.Value == x
		case *ast.CompositeLit:
			return p.Type != x
		case *ast.AssignStmt:
			return slices.Contains(p.Rhs, ast.Expr(x))
		case *ast.ReturnStmt:
			return true
		}
	}
	return false
}
