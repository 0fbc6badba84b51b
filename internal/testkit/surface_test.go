package testkit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// surface is the number of names that a package exports: its exported constants, variables, types, functions and methods of
// exported types, and the exported fields of its structs with the methods of its interfaces.
type surface struct{ names, fields int }

// largest has the surface that a folder may have together with the folders below it that have no rows.
var largest = map[string]surface{
	"resources":           {33, 0},
	"overhead":            {39, 34},
	"taints":              {48, 16},
	"affinity":            {56, 20},
	"spread":              {52, 62},
	"filter":              {70, 75},
	"volumes":             {40, 39},
	"score":               {50, 48},
	"queue":               {95, 105},
	"preemption":          {44, 87},
	"eviction/disruption": {54, 89},
	"eviction/pressure":   {48, 105},
	"eviction/taint":      {45, 77},
	"cluster":             {60, 31},
	"placement":           {114, 174},
	"history":             {21, 4},
}

const (
	largestNames  = 869 // of all rows together: 790, 2 for callers who choose the node or try changes (placement.Attempt.Decision, cluster.Snapshot.Try), 6 for the metrics of groups (placement.GroupStep, PreemptionSummary, queue.Entities), 3 for how many more groups fit (placement.GroupRoom, HowManyGroups, HowManyMembers), 1 for a member of a group with a node (placement.GroupPlace), 1 for deletions by other controllers, 1 for budgets that agents make, 7 for the kinds of remedies, 31 for groups of pods, and 23 that programs of other modules need: amounts of resources, nominations, owners, texts of PostFilter
	largestFields = 966 // of all rows together: 862, 8 for the metrics of groups, 4 of GroupRoom, 4 for the search for a whole group (GroupOptions.Complete, GroupPlace, MemberOutcome.Found), 4 for deletions by other controllers, 2 of a remedy, 54 for groups of pods, 2 that say of a failed sync and of a drain what more input would not change (Synced.Lasting, Blocked.Behind), 5 of PostFilterOutcome, 3 for what plugins of callers may set, and 14 for releases: a field Release in each Options that follows one, HugePageBytes, BindingState.Raw
	largestLater  = 60  // names of a package without a row
)

// later are packages below a row that count on their own.
var later = []string{"preemption/optimal", "volumes/tracker"}

// largestOwn has the packages without a row that may have more names.
var largestOwn = map[string]int{"devices": 120, "podgroup": 80, "diagnose": 70}

// No package exports more than its row allows, and the rows together allow no more than the constants say.
func TestSurface(t *testing.T) {
	own, _ := library(t)
	shown := map[string]surface{}
	for _, p := range own {
		folder := strings.TrimPrefix(p.ImportPath, module+"/")
		row := folder
		for row != "." && largest[row] == (surface{}) {
			row = filepath.ToSlash(filepath.Dir(row))
		}
		if slices.Contains(later, folder) {
			row = "."
		}
		s := surfaceOf(t, p.Dir)
		if row == "." {
			if most := max(largestLater, largestOwn[folder]); s.names > most {
				t.Errorf("%s exports %d names, it may export %d", folder, s.names, most)
			}
			continue
		}
		shown[row] = surface{shown[row].names + s.names, shown[row].fields + s.fields}
	}
	var sum surface
	for row, max := range largest {
		sum = surface{sum.names + max.names, sum.fields + max.fields}
		if got := shown[row]; got.names > max.names || got.fields > max.fields {
			t.Errorf("%s exports %d names and %d fields and interface methods, its row allows %d and %d", row, got.names, got.fields, max.names, max.fields)
		}
	}
	if sum.names > largestNames || sum.fields > largestFields {
		t.Errorf("the rows allow %d names and %d fields and interface methods, together they may allow %d and %d", sum.names, sum.fields, largestNames, largestFields)
	}
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
