package testkit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// surface is the number of names that a package exports: its exported constants, variables, types, functions and methods of
// exported types, and the exported fields of its structs with the methods of its interfaces.
type surface struct{ names, fields int }

// largest has the names that each package may export. A change that needs more raises the row, and CHANGELOG.md says why.
var largest = map[string]int{
	"admission":              43,
	"affinity":               28,
	"cluster":                61,
	"devices":                76,
	"devices/tracker":        30,
	"diagnose":               71,
	"diagnose/lint":          10,
	"diagnose/near":          6,
	"eviction/devicetaint":   9,
	"eviction/disruption":    54,
	"eviction/pressure":      48,
	"eviction/taint":         45,
	"filter":                 70,
	"history":                21,
	"overhead":               23,
	"overhead/kubelet":       11,
	"overhead/quota":         2,
	"overhead/runtimeclass":  3,
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
	"preemption":             44,
	"preemption/optimal":     35,
	"queue":                  96,
	"release":                22,
	"release/plugins":        32,
	"resources":              33,
	"score":                  39,
	"spread":                 35,
	"taints":                 26,
	"taints/edit":            11,
	"volumes":                40,
	"volumes/tracker":        11,
}

// No package exports more names than its row allows, and every package has a row. The fields are shown, not bounded.
func TestSurface(t *testing.T) {
	own, _ := library(t)
	var sum surface
	for _, p := range own {
		folder := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		s := surfaceOf(t, p.Dir)
		if s.names > largest[folder] {
			t.Errorf("%s exports %d names, its row allows %d", folder, s.names, largest[folder])
		}
		sum = surface{sum.names + s.names, sum.fields + s.fields}
		t.Logf("%4d names %4d fields and interface methods: %s", s.names, s.fields, folder)
	}
	t.Logf("%4d names %4d fields and interface methods in %d packages", sum.names, sum.fields, len(own))
}

func surfaceOf(t *testing.T, dir string) (s surface) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range f.Decls {
			names, fields := exports(d)
			s.names, s.fields = s.names+names, s.fields+fields
		}
	}
	return s
}

// exports counts what one declaration exports.
func exports(d ast.Decl) (names, fields int) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || exportedReceiver(d.Recv)) {
			names++
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				names += exported(spec.Names)
			case *ast.TypeSpec:
				names += exported([]*ast.Ident{spec.Name})
				switch kind := spec.Type.(type) {
				case *ast.StructType:
					for _, f := range kind.Fields.List {
						fields += exported(f.Names)
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

func exported(names []*ast.Ident) (n int) {
	for _, name := range names {
		if name.IsExported() {
			n++
		}
	}
	return n
}
