package documents

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../../.."

// pages returns the Markdown files of the repository, by their paths from its root.
func pages(t *testing.T) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if err == nil && strings.HasSuffix(path, ".md") {
			name, err := filepath.Rel(root, path)
			names = append(names, filepath.ToSlash(name))
			return err
		}
		return err
	}))
	require.Greater(t, len(names), 20)
	return names
}

// A block of Go behind a comment <!-- FILE --> or <!-- FILE NAME --> is that file, or what declares NAME in it.
var included = regexp.MustCompile("(?m)^<!-- (\\S+\\.go)(?: (\\S+))? -->\n```go\n((?s:.*?))^```$")

// Programs of README.md and docs/ are copies of files that the tests compile and run.
func TestProgramsAreThoseOfExamples(t *testing.T) {
	found := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(filepath.Join(root, page))
		require.NoError(t, err)
		for _, m := range included.FindAllStringSubmatch(string(text), -1) {
			found++
			require.Equal(t, source(t, m[1], m[2]), m[3], "%s: the program of %s %s", page, m[1], m[2])
		}
	}
	require.Positive(t, found)
}

// source returns a Go file from its package clause on, or the declaration of name with its comment.
func source(t *testing.T, file, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	require.NoError(t, err)
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, text, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	if name == "" {
		return string(text[set.Position(f.Package).Offset:])
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == name {
			from := fn.Pos()
			if fn.Doc != nil {
				from = fn.Doc.Pos()
			}
			return string(text[set.Position(from).Offset:set.Position(fn.End()).Offset]) + "\n"
		}
	}
	require.Fail(t, "not found", "%s has no function %s", file, name)
	return ""
}
