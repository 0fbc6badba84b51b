package placement

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/release/plugins"
)

// rulePackages are the packages of rules, which only the file of a plugin uses.
var rulePackages = map[string]bool{"taints": true, "affinity": true, "spread": true}

// interfaces are the cluster interfaces of those packages.
var interfaces = map[string]bool{"affinity.Namespaces": true, "spread.Owners": true}

// The seam: outside the file of a plugin (plugin_*.go) nothing in placement or its engine knows the plugin. No other file
// uses what such a file declares, names a plugin by a text or by a constant, or uses the package of its rule. The list of the default profile
// (profile.go) is the one place that calls the plugins' functions.
func TestSeam(t *testing.T) {
	names := map[string]bool{}
	for _, p := range plugins.InTree() {
		names[p.Name] = true
	}
	files, own := parsed(t), map[string]string{}
	for name, f := range files {
		if !strings.HasPrefix(name, "plugin_") {
			continue
		}
		for _, d := range f.Decls {
			for _, id := range declared(d) {
				own[id] = name
			}
		}
	}
	require.Greater(t, len(own), 40, "the plugins' own identifiers")
	constants := namesOf(t, "../release/plugins/*.go")
	require.Greater(t, len(constants), 15, "the constants with the plugins' names")
	for name, f := range files {
		if strings.HasPrefix(name, "plugin_") {
			name = "a plugin"
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr: // a field, method or other package: not an identifier of ours
				if x, ok := n.X.(*ast.Ident); ok && x.Obj == nil && rulePackages[x.Name] && name != "a plugin" && name != "profile.go" && !interfaces[x.Name+"."+n.Sel.Name] {
					t.Errorf("%s uses %s.%s", name, x.Name, n.Sel.Name)
				}
				if x, ok := n.X.(*ast.Ident); ok && x.Obj == nil && x.Name == "plugins" && name != "a plugin" && constants[n.Sel.Name] {
					t.Errorf("%s names the plugin %s", name, n.Sel.Name)
				}
				ast.Inspect(n.X, func(x ast.Node) bool { return foreign(t, name, own, x) })
				return false
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && names[text] {
					t.Errorf("%s names the plugin %s", name, text)
				}
			}
			return foreign(t, name, own, n)
		})
	}
}

// A plugin of the caller can set every field of Plugin but two: to count pods is closed to callers, and memory of one plan, which a caller's
// plugin gets with WithShared, is not lost when a caller copies a plugin and changes it.
func TestCallersSetEveryField(t *testing.T) {
	var closed []string
	for f := range reflect.TypeFor[Plugin]().NumField() {
		if x := reflect.TypeFor[Plugin]().Field(f); !x.IsExported() {
			closed = append(closed, x.Name)
		}
	}
	require.Equal(t, []string{"states", "own"}, closed)
}

// namesOf returns the package-level constants and variables of some files.
func namesOf(t *testing.T, pattern string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, f := range parsedFiles(t, pattern) {
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok != token.TYPE {
				for _, name := range declared(d) {
					out[name] = true
				}
			}
		}
	}
	return out
}

// foreign fails the test if another file uses an identifier of a plugin's file.
func foreign(t *testing.T, name string, own map[string]string, n ast.Node) bool {
	id, ok := n.(*ast.Ident)
	if !ok || name == "a plugin" {
		return true
	}
	home, ok := own[id.Name]
	if ok && name != "profile.go" && id.Obj == nil {
		t.Errorf("%s uses %s of %s", name, id.Name, home)
	}
	return true
}

// No plugin's file uses what the file of another declares.
func TestPluginsStandAlone(t *testing.T) {
	files := parsed(t)
	for name, f := range files {
		if !strings.HasPrefix(name, "plugin_") {
			continue
		}
		for other, g := range files {
			if other == name || !strings.HasPrefix(other, "plugin_") {
				continue
			}
			used := map[string]bool{}
			for _, id := range f.Unresolved {
				used[id.Name] = true
			}
			for _, d := range g.Decls {
				for _, id := range declared(d) {
					if used[id] {
						t.Errorf("%s uses %s of %s", name, id, other)
					}
				}
			}
		}
	}
}

func parsed(t *testing.T) map[string]*ast.File {
	t.Helper()
	return parsedFiles(t, "*.go", "internal/reuse/*.go")
}

func parsedFiles(t *testing.T, patterns ...string) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			require.NoError(t, err)
			files[path] = f
		}
	}
	return files
}

// declared returns the package-level names of a declaration.
func declared(d ast.Decl) []string {
	var out []string
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			out = append(out, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				out = append(out, s.Name.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.Name != "_" {
						out = append(out, n.Name)
					}
				}
			}
		}
	}
	return out
}
