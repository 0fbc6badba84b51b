package testkit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// foreignFlags are flags of programs that are not in the tree, which pages and errors name.
var foreignFlags = map[string]string{
	"args": "go test", "bench": "go test", "benchtime": "go test", "count": "go test", "cpu": "go test", "cpuprofile": "go test", "fuzz": "go test",
	"fuzztime": "go test", "race": "go test", "run": "go test", "short": "go test", "timeout": "go test", "v": "go test", "json": "go list", "m": "go list",
	"overwrite": "kubectl taint", "raw": "kubectl get", "h": "the go command's flag package", "help": "the go command's flag package",
	"runtime-config": "kube-apiserver", "node-status-update-frequency": "kubelet", "kernel-memcg-notification": "kubelet",
	"write-config-to": "kube-scheduler", "long": "any flag",
	"node-monitor-period": "kube-controller-manager; tools/taints has it in a table",
	"remove-node":         "tools/whatif has the changes in a table",
	"add-node-like":       "tools/whatif has the changes in a table",
}

// declares are the methods that declare a flag, of package flag and of pflag.
var declares = regexp.MustCompile(`^(Bool|String|Int|Int32|Int64|Uint|Uint64|Float32|Float64|Duration|Text|StringSlice|StringArray|StringToString)?(Var)?P?$|^(Bool)?Func$`)

var (
	flagName    = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]*$`)
	flagsOfText = regexp.MustCompile("(?:^|[\\s(`])--?([a-z][a-z0-9-]*)")
	codeOfPage  = regexp.MustCompile("`(--?[a-z][^`]*)`")
	commandLine = regexp.MustCompile(`^\s*(?:\$ )?(?:go run (?:\./|github\.com/podberth/podberth/)cmd/podberth|podberth|kubectl podberth)(?:@\S+)?\s([^|#>]*)`)
	errorMakers = map[string]bool{"Errorf": true, "New": true}
)

// Every flag that a page or the text of an error names is a flag of a program of the tree, or of one that foreignFlags names.
func TestFlagsExist(t *testing.T) {
	declared, said := flagsAndErrors(t)
	libraries, err := os.ReadFile(filepath.Join(root, "scheduler/live/command/testdata/flags.txt"))
	require.NoError(t, err)
	for name := range strings.FieldsSeq(string(libraries)) {
		declared[name] = true
	}
	for name, text := range said {
		for _, m := range flagsOfText.FindAllStringSubmatch(text, -1) {
			if !declared[m[1]] && foreignFlags[m[1]] == "" {
				t.Errorf("%s: an error names the flag -%s, which no program has: %q", name, m[1], text)
			}
		}
	}
	named := 0
	for _, page := range append(pages(t), "scheduler/live/README.md") {
		data, err := os.ReadFile(filepath.Join(root, page))
		require.NoError(t, err)
		var texts []string
		for _, m := range codeOfPage.FindAllStringSubmatch(string(data), -1) {
			texts = append(texts, m[1])
		}
		for line := range strings.Lines(string(data)) {
			if m := commandLine.FindStringSubmatch(line); m != nil {
				texts = append(texts, m[1])
			}
		}
		for _, text := range texts {
			for _, m := range flagsOfText.FindAllStringSubmatch(text, -1) {
				named++
				if !declared[m[1]] && foreignFlags[m[1]] == "" {
					t.Errorf("%s: names the flag -%s, which no program has: %s", page, m[1], strings.TrimSpace(text))
				}
			}
		}
	}
	require.Greater(t, named, 100)
}

// flagsAndErrors returns the names of the flags that the Go files of the tree declare, and the texts of errors by position.
func flagsAndErrors(t *testing.T) (flags map[string]bool, errors map[string]string) {
	t.Helper()
	flags, errors = map[string]bool{}, map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "testdata" {
			return errorOr(err, fs.SkipDir)
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			fun, _ := call.Fun.(*ast.SelectorExpr)
			helper, _ := call.Fun.(*ast.Ident)
			for i, arg := range call.Args {
				lit, ok := arg.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					continue
				}
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					continue
				}
				switch {
				case i < 3 && flagName.MatchString(text) && (fun != nil && declares.MatchString(fun.Sel.Name) || helper != nil && helper.Name == "list"):
					flags[text] = true
				case fun != nil && i == 0 && errorMakers[fun.Sel.Name] && !strings.HasSuffix(path, "_test.go"):
					errors[fset.Position(lit.Pos()).String()] = text
				}
			}
			return true
		})
		return nil
	}))
	return flags, errors
}

func errorOr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}
