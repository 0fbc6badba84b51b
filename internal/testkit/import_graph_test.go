package testkit

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// graphLine is one line of testdata/imports.txt: a package, the word imports, and packages or the word nothing.
var graphLine = regexp.MustCompile(`(?m)^([a-z0-9/]+) +imports ([a-z0-9/, ]+)$`)

// The import graph in testdata/imports.txt equals the real one. The graph has every package of the root module except the packages
// that only tests use: internal/testkit, the packages below it, and the packages that import it.
func TestGraph(t *testing.T) {
	text, err := os.ReadFile("testdata/imports.txt")
	require.NoError(t, err)
	drawn := map[string]string{}
	for _, m := range graphLine.FindAllStringSubmatch(string(text), -1) {
		require.NotContains(t, drawn, m[1], "testdata/imports.txt has two lines for %s", m[1])
		drawn[m[1]] = m[2]
	}
	_, all := library(t)
	for path, p := range all {
		folder, ours := strings.CutPrefix(path, module+"/")
		if !ours || in(path, "internal/testkit") || slices.Contains(p.Imports, module+"/internal/testkit") {
			continue
		}
		var imports []string
		for _, imp := range p.Imports {
			if rest, ok := strings.CutPrefix(imp, module+"/"); ok {
				imports = append(imports, rest)
			}
		}
		slices.Sort(imports)
		real := "nothing"
		if imports != nil {
			real = strings.Join(imports, ", ")
		}
		if drawn[folder] != real {
			t.Errorf("internal/testkit/testdata/imports.txt: the line of %s must be\n%-22s imports %s", folder, folder, real)
		}
		delete(drawn, folder)
	}
	for folder := range drawn {
		t.Errorf("internal/testkit/testdata/imports.txt has a line for %s, which is no package of the library", folder)
	}
}

// Packages of rules do not import, directly or through another package, the packages that plan, diagnose or have the rules
// of earlier releases.
func TestRulesStandAlone(t *testing.T) {
	own, _ := library(t)
	for _, p := range own {
		if !in(p.ImportPath, "queue", "filter", "score", "spread", "taints", "affinity", "preemption", "eviction", "overhead", "volumes") {
			continue
		}
		for _, dep := range p.Deps {
			if in(dep, "diagnose", "planning", "history") {
				t.Errorf("%s depends on %s", p.ImportPath, dep)
			}
		}
	}
}

// in reports whether a package path is one of the folders of the module or lies below one.
func in(path string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		return path == module+"/"+folder || strings.HasPrefix(path, module+"/"+folder+"/")
	})
}
