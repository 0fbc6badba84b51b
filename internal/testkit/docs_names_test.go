package testkit

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// qualified is `pkg.Name`, `folder/pkg.Type.Member`, also with arguments.
var qualified = regexp.MustCompile("`([a-z][a-z0-9_]*(?:/[a-z0-9_]+)*)\\.([A-Z]\\w*(?:\\.[A-Z]\\w*)*)(?:\\([^`]*\\)|\\{[^`]*\\})?`")

// member is `Type.Member` of a package that the text names, also with arguments.
var member = regexp.MustCompile("`\\*?([A-Z]\\w+\\.[A-Z]\\w+)(?:\\([^`]*\\))?`")

// variables are names of values that pages use, with their types.
var variables = map[string]string{
	"plan": "placement.Plan", "placer": "placement.Placer", "decision": "placement.Decision", "profile": "placement.Profile", "snapshot": "cluster.Snapshot",
}

// Every name of the form pkg.Name that a page has in backquotes exists. The package is its folder, the end of its folder, or its
// name; names of tests and of packages of conformance count too. For pkg there may be one of variables.
func TestNamesInPages(t *testing.T) {
	w, names := compiledWorkspace(t), 0
	for _, page := range pages(t) {
		data, err := os.ReadFile(filepath.Join(root, page))
		require.NoError(t, err)
		for _, m := range qualified.FindAllStringSubmatch(string(data), -1) {
			if m[1] == "package" {
				continue // a pattern
			}
			names++
			if folder, typ, ok := strings.Cut(variables[m[1]], "."); ok && w.has(module+"/"+folder, typ+"."+m[2]) {
				continue
			}
			exists := false
			for imp, b := range w.all {
				if strings.HasSuffix("/"+imp, "/"+m[1]) || b.Name == m[1] {
					exists = exists || w.has(imp, m[2])
				}
			}
			if !exists && !inSource(t, m[1], m[2]) {
				t.Errorf("%s: there is no %s", page, m[0])
			}
		}
	}
	require.Greater(t, names, 300)
}

// Every name of the form Type.Member that a page has in backquotes exists in a package of the tree.
func TestMembersInPages(t *testing.T) {
	w, known := compiledWorkspace(t), map[string]bool{}
	for _, page := range pages(t) {
		data, err := os.ReadFile(filepath.Join(root, page))
		require.NoError(t, err)
		for _, m := range member.FindAllStringSubmatch(string(data), -1) {
			if _, asked := known[m[1]]; !asked {
				known[m[1]] = false
				for _, b := range w.own() {
					known[m[1]] = known[m[1]] || w.has(b.ImportPath, m[1])
				}
			}
			if !known[m[1]] {
				t.Errorf("%s: no package has %s", page, m[0])
			}
		}
	}
	require.Greater(t, len(known), 100)
}

// inSource reports whether a folder of the tree whose path ends so declares a test, or a folder of conformance any name.
func inSource(t *testing.T, end, name string) bool {
	t.Helper()
	test := regexp.MustCompile(`^(Test|Fuzz|Benchmark|Example)`).MatchString(name)
	for _, folder := range goFolders(t) {
		if !strings.HasSuffix("/"+folder, "/"+end) || !test && !strings.HasPrefix(folder, "conformance/") {
			continue
		}
		files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			if regexp.MustCompile(`(?m)^(func|type|var|const) ` + regexp.QuoteMeta(name) + `\b`).Match(data) {
				return true
			}
		}
	}
	return false
}

var goFoldersOnce = sync.OnceValues(func() ([]string, error) {
	var all []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".go" {
			var folder string
			if folder, err = filepath.Rel(root, filepath.Dir(path)); err == nil && (len(all) == 0 || all[len(all)-1] != filepath.ToSlash(folder)) {
				all = append(all, filepath.ToSlash(folder))
			}
		}
		return err
	})
	slices.Sort(all)
	return slices.Compact(all), err
})

// goFolders returns the folders of the tree that have Go files, those of conformance too.
func goFolders(t *testing.T) []string {
	t.Helper()
	all, err := goFoldersOnce()
	require.NoError(t, err)
	return all
}

// pages returns the Markdown files of the root and of docs, but for reports and CHANGELOG.md: they tell what was.
func pages(t *testing.T) (all []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/start/*.md", "docs/fidelity/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, f := range found {
			name, err := filepath.Rel(root, f)
			require.NoError(t, err)
			if name != "CHANGELOG.md" {
				all = append(all, filepath.ToSlash(name))
			}
		}
	}
	return all
}
