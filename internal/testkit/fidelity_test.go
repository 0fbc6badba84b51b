package testkit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit/fidelity"
)

// Every row of the fidelity tables names a test that exists, and no two rows have the same identifier. A case that a row names
// is a text that the named function uses. When PODBERTH_TEST_LOG names the output of `go test -v`, every named test and case
// has run and has passed in it; .ci/run does this.
func TestFidelity(t *testing.T) {
	tables, err := filepath.Glob(filepath.Join(root, "docs/fidelity/*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, tables)
	passed := passedTests(t, os.Getenv("PODBERTH_TEST_LOG"))
	seen := map[string]string{}
	for _, table := range tables {
		text, err := os.ReadFile(table)
		require.NoError(t, err)
		rows := fidelity.Rows(string(text))
		for _, r := range rows {
			at := filepath.Base(table) + ":" + strconv.Itoa(r.Line)
			if first, ok := seen[r.ID]; ok {
				t.Errorf("%s: %s has a row at %s already", at, r.ID, first)
			}
			seen[r.ID] = at
			for _, name := range r.Tests {
				if reason := missing(t, name, passed); reason != "" {
					t.Errorf("%s: %s: %s", at, r.ID, reason)
				}
			}
		}
		if len(rows) == 0 {
			t.Errorf("%s has no rows", table)
		}
	}
}

var (
	passLine    = regexp.MustCompile(`^ *--- (?:PASS|SKIP): (\S+) `)
	packageLine = regexp.MustCompile(`^ok  \t(\S+)\t`)
)

// passedTests returns the tests and cases that passed in the output of `go test -v`, by folder; nil without a file. A test that was
// skipped counts when the traces are missing that it reads.
func passedTests(t *testing.T, file string) map[string]map[string]bool {
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	out, tests := map[string]map[string]bool{}, map[string]bool{}
	before := ""
	for line := range strings.SplitSeq(string(text), "\n") {
		reason := before
		before = line
		if m := passLine.FindStringSubmatch(line); m != nil {
			tests[m[1]] = strings.Contains(line, "--- PASS") || strings.Contains(reason, "PODBERTH_TRACES")
		} else if m := packageLine.FindStringSubmatch(line); m != nil { // the last line of a package
			out[strings.TrimPrefix(m[1], module+"/")] = tests
			tests = map[string]bool{}
		}
	}
	require.NotEmpty(t, out, "%s has no package", file)
	return out
}

// byCommand are tests that rows name and that run only when asked for: docs/packing.md has the command of the scenarios, which take
// hours.
var byCommand = []string{"planning/packing.TestScenarios"}

// missing returns why a test of that name does not exist or did not run, "" when neither is so. passed may be nil. The tests of
// conformance/ are another module and run at another time.
func missing(t *testing.T, name string, passed map[string]map[string]bool) string {
	folder, function, testCase, ok := fidelity.Test(name)
	if !ok {
		return strconv.Quote(name) + " is not package.TestName or package.TestName/case"
	}
	s := sourcesOf(t, folder)
	if _, ok := s.functions[function]; !ok {
		return function + " does not exist in " + folder
	}
	if testCase != "" && !s.uses(t, function, testCase) {
		return folder + "." + function + " has no case " + strconv.Quote(testCase)
	}
	if passed == nil || strings.HasPrefix(folder, "conformance/") || slices.Contains(byCommand, folder+"."+function) {
		return ""
	}
	run := function
	if testCase != "" {
		run += "/" + strings.ReplaceAll(testCase, " ", "_")
	}
	if !passed[folder][run] {
		return folder + "." + run + " did not run, or did not pass"
	}
	return ""
}

// testSources are the test files of a package.
type testSources struct {
	functions map[string]*ast.FuncDecl
	declared  map[string][]ast.Node // by name, what the package's test files declare: functions, methods, variables, constants
	folder    string
}

var sourcesCache = map[string]*testSources{}

func sourcesOf(t *testing.T, folder string) *testSources {
	if s, ok := sourcesCache[folder]; ok {
		return s
	}
	s := &testSources{functions: map[string]*ast.FuncDecl{}, declared: map[string][]ast.Node{}, folder: folder}
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				s.declared[d.Name.Name] = append(s.declared[d.Name.Name], d)
				if d.Recv == nil {
					s.functions[d.Name.Name] = d
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok {
						for _, name := range v.Names {
							s.declared[name.Name] = append(s.declared[name.Name], v)
						}
					}
				}
			}
		}
	}
	sourcesCache[folder] = s
	return s
}

// uses reports whether a function, or what it uses of the test files, has the name of a case as a text. A function that reads
// a text file of testdata has the names of the file's cases: "# name: reason" or "# name reason".
func (s *testSources) uses(t *testing.T, function, name string) bool {
	seen, found := map[string]bool{function: true}, false
	for rest := slices.Clone(s.declared[function]); len(rest) > 0 && !found; rest = rest[1:] {
		ast.Inspect(rest[0], func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					found = found || text == name || s.fileHas(t, text, name)
				}
			case *ast.Ident:
				if !seen[n.Name] {
					seen[n.Name] = true
					rest = append(rest, s.declared[n.Name]...)
				}
			}
			return true
		})
	}
	return found
}

// fileHas reports whether a text file of testdata that pattern names has a case.
func (s *testSources) fileHas(t *testing.T, pattern, name string) bool {
	if !strings.HasPrefix(pattern, "testdata/") || !strings.HasSuffix(pattern, ".txt") {
		return false
	}
	files, err := filepath.Glob(filepath.Join(root, s.folder, pattern))
	require.NoError(t, err)
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, "# "+name); ok && (rest == "" || strings.ContainsAny(rest[:1], ": \n")) {
				return true
			}
		}
		return false
	})
}

// A case counts only below the function that uses it, and only when it ran.
func TestMissing(t *testing.T) {
	Run(t, []struct{ name, test, want string }{
		{"a case", "internal/testkit.TestMissing/a case", ""},
		{"a case of another function", "internal/testkit.TestFidelity/a case", `internal/testkit.TestFidelity has no case "a case"`},
		{"no function", "internal/testkit.TestNothing", "TestNothing does not exist in internal/testkit"},
		{"no name", "TestFidelity", `"TestFidelity" is not package.TestName or package.TestName/case`},
	}, func(t *testing.T, c struct{ name, test, want string }) {
		require.Equal(t, c.want, missing(t, c.test, nil))
	})
	log := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(log, []byte("=== RUN   TestMissing\n    --- PASS: TestMissing/a_case (0.00s)\n--- PASS: TestMissing (0.00s)\n    a.go:1: set PODBERTH_TRACES\n--- SKIP: TestTraces (0.00s)\n    a.go:1: slow\n--- SKIP: TestSlow (0.00s)\nPASS\nok  \t"+
		module+"/internal/testkit\t1s\n"), 0o644))
	passed := passedTests(t, log)
	require.Empty(t, missing(t, "internal/testkit.TestMissing", passed))
	require.Empty(t, missing(t, "internal/testkit.TestMissing/a case", passed))
	require.Equal(t, "internal/testkit.TestMissing/no_function did not run, or did not pass", missing(t, "internal/testkit.TestMissing/no function", passed))
	require.Equal(t, "internal/testkit.TestRuleNames did not run, or did not pass", missing(t, "internal/testkit.TestRuleNames", passed))
}
