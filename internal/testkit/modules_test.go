package testkit

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goModule is what `go mod edit -json` prints of a go.mod file.
type goModule struct {
	Module  struct{ Path string }
	Require []struct {
		Path, Version string
		Indirect      bool
	}
	Replace []any
}

func goModuleAt(t *testing.T, folder string) (m goModule) {
	t.Helper()
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = filepath.Join(root, folder)
	out, err := cmd.Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, &m))
	return m
}

// publishedModules returns the modules of the tree, except those in conformance and adapters, by folder.
func publishedModules(t *testing.T) map[string]goModule {
	t.Helper()
	modules := map[string]goModule{}
	require.NoError(t, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != root && (d.Name() == "conformance" || d.Name() == "adapters" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if d.Name() == "go.mod" {
			folder, err := filepath.Rel(root, filepath.Dir(file))
			if err != nil {
				return err
			}
			modules[filepath.ToSlash(folder)] = goModuleAt(t, folder)
		}
		return nil
	}))
	require.Contains(t, modules, ".")
	return modules
}

// text returns a file of the repository.
func text(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(data)
}

// nextVersion returns the version that the first heading of CHANGELOG.md with a version names.
func nextVersion(t *testing.T) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^## (v[0-9]+\.[0-9]+\.[0-9]+)`).FindStringSubmatch(text(t, "CHANGELOG.md"))
	require.NotNil(t, m, "CHANGELOG.md has no heading with a version")
	return m[1]
}

// Published modules have no replace directive and require each other under the next version. Only go.work joins them.
func TestModules(t *testing.T) {
	modules, version := publishedModules(t), nextVersion(t)
	work := exec.Command("go", "work", "edit", "-json", "go.work")
	work.Dir = root
	out, err := work.Output()
	require.NoError(t, err)
	var workspace struct {
		Use     []struct{ DiskPath string }
		Replace []struct {
			Old, New struct{ Path, Version string }
		}
	}
	require.NoError(t, json.Unmarshal(out, &workspace))
	var used, folders []string
	for _, u := range workspace.Use {
		used = append(used, path.Clean(u.DiskPath))
	}
	required := map[string]bool{}
	for folder, m := range modules {
		folders = append(folders, folder)
		require.Equal(t, path.Join(module, folder), m.Module.Path, "the module in %s", folder)
		require.Empty(t, m.Replace, "%s/go.mod: a published module has no replace", folder)
		for _, r := range m.Require {
			if r.Path == module || strings.HasPrefix(r.Path, module+"/") {
				required[r.Path] = true
				require.Equal(t, version, r.Version, "%s/go.mod: the version of %s", folder, r.Path)
			}
		}
	}
	require.ElementsMatch(t, folders, used, "go.work uses every published module")
	for _, r := range workspace.Replace {
		require.True(t, required[r.Old.Path], "go.work: no module requires %s", r.Old.Path)
		require.Equal(t, version, r.Old.Version, "go.work: the version of %s", r.Old.Path)
		require.Equal(t, r.Old.Path, path.Join(module, r.New.Path), "go.work: the folder of %s", r.Old.Path)
		delete(required, r.Old.Path)
	}
	require.Empty(t, required, "go.work lacks a replace of these modules: the go command would look for a version that is not released")
}

// A go line with a patch version, or a toolchain line, keeps importers with an earlier patch away.
func TestGoLines(t *testing.T) {
	for folder := range publishedModules(t) {
		mod := text(t, filepath.Join(folder, "go.mod"))
		require.Regexp(t, `(?m)^go 1\.[0-9]+\.0$`, mod, folder)
		require.NotRegexp(t, `(?m)^toolchain\b`, mod, folder)
	}
}

// The commands that readers are given test the workspace, which uses every published module (TestModules).
func TestCommandsTestTheWorkspace(t *testing.T) {
	for _, file := range []string{"README.md", "CONTRIBUTING.md"} {
		require.Regexp(t, `(?m)^go test work( +#.*)?$`, text(t, file), file)
	}
	require.Contains(t, text(t, ".ci/run"), "packages=(work)\n", ".ci/run")
}

// after has the modules that a published module may require: a line, on which scheduler/live and tools stand side by side. Published
// modules may import the public packages of these modules.
var after = map[string][]string{
	".":              nil,
	"devices/cel":    {"."},
	"scheduler":      {".", "devices/cel"},
	"scheduler/live": {".", "devices/cel", "scheduler"},
	"tools":          {".", "devices/cel", "scheduler"},
	"cmd":            {".", "devices/cel", "scheduler", "scheduler/live", "tools"},
}

// No published module imports an internal package of another module outside tests, and requirements make no cycle.
func TestModulesStandAlone(t *testing.T) {
	modules := publishedModules(t)
	require.Len(t, modules, len(after))
	for folder, m := range modules {
		for _, r := range m.Require {
			if rest, ok := strings.CutPrefix(r.Path, module); ok {
				require.Contains(t, after[folder], path.Clean("."+rest), "%s/go.mod", folder)
			}
		}
		for _, f := range sources(t, folder, modules) {
			for _, spec := range f.imports {
				rest, ok := strings.CutPrefix(spec, module+"/")
				if at := strings.Index("/"+rest+"/", "/internal/"); ok && at >= 0 {
					require.Equal(t, folder, owner(rest, modules), "%s imports %s", f.name, spec)
				}
			}
		}
	}
}

// source is a file of a module that is no test.
type source struct {
	name    string
	imports []string
}

// sources returns the source files of a module, without those of tests and of modules below it.
func sources(t *testing.T, folder string, modules map[string]goModule) (all []source) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(filepath.Join(root, folder), func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			_, module := modules[name]
			if name != folder && (module || name == "conformance" || name == "adapters" || name == "internal/testkit" || d.Name() == "testdata" || name != "." && strings.HasPrefix(d.Name(), ".")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		s := source{name: name}
		for _, spec := range f.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, imp)
		}
		all = append(all, s)
		return nil
	}))
	return all
}

// owner returns the module that has a package, the longest folder in front of the package's.
func owner(pkg string, modules map[string]goModule) string {
	for pkg != "." {
		if _, ok := modules[pkg]; ok {
			return pkg
		}
		pkg = path.Dir(pkg)
	}
	return "."
}

// CONTRIBUTING.md lists the tags of a release, a module after those that it requires.
func TestOrderOfTags(t *testing.T) {
	modules, guide := publishedModules(t), text(t, "CONTRIBUTING.md")
	line := func(folder string) int {
		tag := "`" + path.Join(folder, "vX.Y.Z") + "`"
		at := strings.Index(guide, ". "+tag)
		require.GreaterOrEqual(t, at, 0, "CONTRIBUTING.md: no numbered line for the tag %s", tag)
		return at
	}
	for folder, m := range modules {
		at := line(folder)
		for _, r := range m.Require {
			if rest, ok := strings.CutPrefix(r.Path, module); ok {
				needed := path.Clean("." + rest)
				require.Less(t, line(needed), at, "CONTRIBUTING.md: %s is tagged before %s", needed, folder)
			}
		}
	}
}

// Package must stands in two modules, because no module imports an internal package of another: the two files are the same.
func TestMustIsOne(t *testing.T) {
	own, err := os.ReadFile(filepath.Join(root, "internal/must/must.go"))
	require.NoError(t, err)
	other, err := os.ReadFile(filepath.Join(root, "tools/internal/must/must.go"))
	require.NoError(t, err)
	require.Equal(t, string(own), string(other), "cp internal/must/must.go tools/internal/must")
}
