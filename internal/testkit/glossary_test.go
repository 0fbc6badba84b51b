package testkit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var backquoted = regexp.MustCompile("`([^`]+)`")

// led are terms of documents that lead to an example, each in one step.
var led = []string{
	"round robin", "zone interleaving", "PDB", "nodeAffinityPolicy", "nodeTaintsPolicy", "matchLabelKeys", "maxSkew", "whenUnsatisfiable", "namespaceSelector",
	"eviction-pressure-transition-period", "oscillation", "system-reserved", "kube-reserved", "housekeeping-interval", "uninitialized", "Permit", "PodsToActivate",
	"moveRequestCycle",
}

// linked is a link to an example, with its text `folder/pkg.ExampleName` and its file.
var linked = regexp.MustCompile("\\[`([^`]+)\\.(Example[^`]*)`\\]\\(([^)]+)\\)")

// Every name in the column "here" of the glossary exists: a folder, or an exported name of the package there. A link leads to the file of an
// example, and the terms of led have one.
func TestGlossary(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "docs/glossary.md"))
	require.NoError(t, err)
	shown := map[string]map[string]bool{}
	terms, seen := 0, map[string]bool{}
	leads := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], " ---") || cells[1] == " term " {
			continue
		}
		for term := range strings.SplitSeq(cells[1], ",") {
			terms++
			if term = strings.TrimSpace(term); seen[term] {
				t.Errorf("%s stands twice", term)
			}
			seen[term] = true
			leads[term] = linked.MatchString(cells[3])
		}
		for _, m := range linked.FindAllStringSubmatch(cells[3], -1) {
			source, err := os.ReadFile(filepath.Join(root, "docs", m[3]))
			require.NoError(t, err, cells[1])
			require.Equal(t, "../"+m[1], filepath.ToSlash(filepath.Dir(m[3])), "%s: the folder of the example", cells[1])
			require.Contains(t, string(source), "\nfunc "+m[2]+"() {", cells[1])
		}
		cells[3] = linked.ReplaceAllString(cells[3], "")
		names := backquoted.FindAllStringSubmatch(cells[3], -1)
		if len(names) == 0 {
			t.Errorf("%s: names nothing of this project", cells[1])
		}
		for _, m := range names {
			folder, name := m[1], ""
			if k := strings.Index(folder[strings.LastIndex(folder, "/")+1:], "."); k >= 0 {
				k += strings.LastIndex(folder, "/") + 1
				folder, name = folder[:k], folder[k+1:]
			}
			if shown[folder] == nil {
				shown[folder] = exportedNames(t, filepath.Join(root, folder))
			}
			if len(shown[folder]) == 0 || name != "" && !shown[folder][name] {
				t.Errorf("%s: there is no %s", cells[1], m[1])
			}
		}
	}
	require.Greater(t, terms, 80)
	for _, term := range led {
		require.True(t, leads[term], "%s leads to no example", term)
	}
}

// What documents name and podberth leaves out on purpose is in SCOPE.md.
func TestScope(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "SCOPE.md"))
	require.NoError(t, err)
	for _, name := range []string{
		"kube_pod_overhead", "node-status-update-frequency", "kernel-memcg-notification", "NodeLabel", "ServiceAffinity", "NodeResourceLimits", "CheckNodeCondition",
	} {
		require.Contains(t, string(data), name)
	}
}

// exportedNames returns the exported names of a folder's package; those of methods, fields and interface methods follow their
// type and a dot. It is empty for a folder without a package.
func exportedNames(t *testing.T, folder string) map[string]bool {
	out := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if name := d.Name.Name; d.Recv == nil {
					out[name] = ast.IsExported(name)
				} else {
					out[receiver(d.Recv.List[0].Type)+"."+name] = ast.IsExported(name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					addSpec(out, s)
				}
			}
		}
	}
	return out
}

func addSpec(out map[string]bool, s ast.Spec) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			out[n.Name] = n.IsExported()
		}
	case *ast.TypeSpec:
		out[s.Name.Name] = s.Name.IsExported()
		var members *ast.FieldList
		switch x := s.Type.(type) {
		case *ast.StructType:
			members = x.Fields
		case *ast.InterfaceType:
			members = x.Methods
		default:
			return
		}
		for _, f := range members.List {
			for _, n := range f.Names {
				out[s.Name.Name+"."+n.Name] = n.IsExported()
			}
		}
	}
}

// receiver returns the name of a method's type.
func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}
