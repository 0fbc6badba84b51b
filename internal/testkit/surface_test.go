package testkit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// surface is the number of names that a package exports: its exported constants, variables, types, functions and methods of
// exported types, and the exported fields of its structs with the methods of its interfaces.
type surface struct {
	names, fields int
	all           map[string]bool // the names, those of methods with their type
}

// largest has the names that each package may export. A change that needs more raises the row, and CHANGELOG.md says why.
var largest = map[string]int{
	"admission":              43,
	"affinity":               20,
	"cluster":                61,
	"devices":                70,
	"devices/tracker":        30,
	"diagnose":               72,
	"diagnose/lint":          10,
	"diagnose/near":          6,
	"eviction/devicetaint":   9,
	"eviction/disruption":    54,
	"eviction/pressure":      48,
	"eviction/taint":         38,
	"filter":                 60,
	"history":                17,
	"overhead":               21,
	"overhead/kubelet":       11,
	"overhead/quota":         2,
	"overhead/runtimeclass":  1,
	"placement":              112,
	"placement/plugintest":   2,
	"planning/consolidation": 32,
	"planning/estimate":      18,
	"planning/failures":      48,
	"planning/gang":          29,
	"planning/gang/proof":    23,
	"planning/packing":       7,
	"planning/rollout":       43,
	"planning/workload":      8,
	"podgroup":               77,
	"preemption":             40,
	"preemption/optimal":     35,
	"queue":                  95,
	"release":                22,
	"release/plugins":        32,
	"resources":              33,
	"score":                  32,
	"spread":                 25,
	"taints":                 22,
	"taints/edit":            11,
	"volumes":                35,
	"volumes/tracker":        11,
}

// first is how many names the packages export that stood there when they were first counted, or stand in the place of one: a part of a package
// that got a package of its own counts too. It only falls. The names that came later are in testdata/later-names.txt.
const first = 1000

// No package exports more names than its row allows, and every package has a row. The fields are shown, not bounded.
func TestSurface(t *testing.T) {
	own, _ := library(t)
	var sum surface
	later, before := laterNames(t), 0
	for _, p := range own {
		folder := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		s := surfaceOf(t, p.Dir)
		if s.names > largest[folder] {
			t.Errorf("%s exports %d names, its row allows %d", folder, s.names, largest[folder])
		}
		for name := range s.all {
			if later[folder][name] {
				delete(later[folder], name)
			} else {
				before++
			}
		}
		for name := range later[folder] {
			t.Errorf("testdata/later-names.txt: %s exports no %s", folder, name)
		}
		delete(later, folder)
		sum = surface{sum.names + s.names, sum.fields + s.fields, nil}
		t.Logf("%4d names %4d fields and interface methods: %s", s.names, s.fields, folder)
	}
	require.Empty(t, later, "testdata/later-names.txt names a package that is not there")
	require.Equal(t, first, before, "names that are not in testdata/later-names.txt")
	t.Logf("%4d names %4d fields and interface methods in %d packages; %d names came later", sum.names, sum.fields, len(own), sum.names-before)
}

// laterNames reads the names that came later, by package.
func laterNames(t *testing.T) map[string]map[string]bool {
	t.Helper()
	text, err := os.ReadFile("testdata/later-names.txt")
	require.NoError(t, err)
	later := map[string]map[string]bool{}
	var list map[string]bool
	for line := range strings.Lines(string(text)) {
		names, listed := strings.CutPrefix(line, "\t")
		switch {
		case strings.HasPrefix(line, "#"):
		case listed:
			for _, name := range strings.Fields(names) {
				list[name] = true
			}
		default:
			folder, reason, _ := strings.Cut(strings.TrimSpace(line), ": ")
			require.NotEmpty(t, reason, folder)
			list = map[string]bool{}
			later[folder] = list
		}
	}
	return later
}

func surfaceOf(t *testing.T, dir string) (s surface) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	s.all = map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range f.Decls {
			names, fields := exports(d)
			s.names, s.fields = s.names+len(names), s.fields+fields
			for _, name := range names {
				s.all[name] = true
			}
		}
	}
	return s
}

// exports returns the names that one declaration exports, and counts its fields and methods of interfaces.
func exports(d ast.Decl) (names []string, fields int) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		switch {
		case !d.Name.IsExported():
		case d.Recv == nil:
			names = append(names, d.Name.Name)
		case exportedReceiver(d.Recv):
			names = append(names, typeOf(d.Recv.List[0].Type)+"."+d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				names = append(names, exported(spec.Names)...)
			case *ast.TypeSpec:
				names = append(names, exported([]*ast.Ident{spec.Name})...)
				switch kind := spec.Type.(type) {
				case *ast.StructType:
					for _, f := range kind.Fields.List {
						fields += len(exported(f.Names))
					}
				case *ast.InterfaceType:
					for _, m := range kind.Methods.List {
						fields += len(m.Names)
					}
				}
			}
		}
	}
	return names, fields
}

func exported(idents []*ast.Ident) (names []string) {
	for _, ident := range idents {
		if ident.IsExported() {
			names = append(names, ident.Name)
		}
	}
	return names
}

// typeOf returns the name of the type of a method.
func typeOf(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return typeOf(t.X)
	case *ast.IndexExpr:
		return typeOf(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}
