package hostile

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	duration = flag.Duration("for", 0, "play seeds for this `TIME`, in place of a fixed number")
	first    = flag.Uint64("seed", 1, "the first `SEED`")
)

const (
	seeds     = 60  // without -for
	mostSeeds = 300 // without -for, as long as a function is not reached
	steps     = 300 // calls of a seed
)

// Every call of hostile objects ends, without a panic, changes no argument and gives the same whatever the order of maps. Every exported
// function and method of the library is called, or is listed with the reason why not.
func TestHostile(t *testing.T) {
	start, reached, calls, seed, all := time.Now(), map[string]bool{}, 0, *first, exported(t)
	missing := func() []string {
		return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return reached[name] || notCalled[name] != "" })
	}
	more := func() bool {
		if *duration > 0 {
			return time.Since(start) < *duration
		}
		return seed < *first+seeds || seed < *first+mostSeeds && len(missing()) > 0
	}
	for ; more(); seed++ {
		calls += play(t, seed, reached)
	}
	t.Logf("%d calls of %d functions and methods with %d seeds in %v", calls, len(reached), seed-*first, time.Since(start).Round(time.Second))
	if *first != 1 || *duration > 0 {
		return
	}
	for _, name := range missing() {
		t.Errorf("%s: is not called; let the test reach it, or list it in notCalled with a reason", name)
	}
	for name := range notCalled {
		if !slices.Contains(all, name) {
			t.Errorf("notCalled: %s does not exist", name)
		}
	}
}

// play makes the calls of one seed in two worlds and returns their number.
func play(t *testing.T, seed uint64, reached map[string]bool) (calls int) {
	t.Helper()
	a, b := newWorld(seed, false), newWorld(seed, true)
	for k := range steps {
		x, y := a.step(seed, k), b.step(seed, k)
		if x.skipped && y.skipped {
			continue
		}
		calls += 2
		reached[x.name] = true
		switch {
		case x.name != y.name || x.skipped != y.skipped || (x.panics == "") != (y.panics == ""):
			t.Errorf("seed %d, call %d: %s and %s differ: the worlds went apart\n%s%s", seed, k, x.name, y.name, x.panics, y.panics)
			return calls
		case x.panics != "":
			if mayPanic[x.name] == "" {
				t.Errorf("seed %d, call %d: %s panics: %s", seed, k, x.name, x.panics)
				return calls // a value may be half changed
			}
		case x.changed != "" && mayChange[x.name] == "":
			t.Errorf("seed %d, call %d: %s changes %s", seed, k, x.name, x.changed)
			return calls
		case x.text != y.text:
			t.Errorf("seed %d, call %d: %s gives different results:\n%s\n%s", seed, k, x.name, apart(x.text, y.text), apart(y.text, x.text))
			return calls
		}
	}
	return calls
}

// apart returns the part of a text where it leaves another.
func apart(text, other string) string {
	k := 0
	for k < min(len(text), len(other)) && text[k] == other[k] {
		k++
	}
	return text[max(0, k-200):min(len(text), k+200)]
}

// exported returns the exported functions, and the exported methods of exported types, of the packages of the library.
func exported(t *testing.T) (all []string) {
	t.Helper()
	const root = "../../.."
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		folder, _ := filepath.Rel(root, path)
		folder = filepath.ToSlash(folder)
		if err == nil && d.IsDir() {
			switch top, _, _ := strings.Cut(folder, "/"); {
			case top == "adapters", top == "examples", top == "scheduler", top == "tools", top == "cmd", top == "conformance", top == "docs", folder == "devices/cel", d.Name() == "internal", d.Name() == "testdata", folder != "." && strings.HasPrefix(d.Name(), "."):
				return filepath.SkipDir
			}
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.IsExported() {
				if owner := owner(f); ast.IsExported(owner) {
					all = append(all, filepath.ToSlash(filepath.Dir(folder))+"."+owner+"."+f.Name.Name)
				} else if f.Recv == nil {
					all = append(all, filepath.ToSlash(filepath.Dir(folder))+"."+f.Name.Name)
				}
			}
		}
		return nil
	}))
	require.Greater(t, len(all), 400)
	return all
}

// owner returns the type of a method; "" for a function.
func owner(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	x := f.Recv.List[0].Type
	if s, ok := x.(*ast.StarExpr); ok {
		x = s.X
	}
	if g, ok := x.(*ast.IndexExpr); ok {
		x = g.X
	}
	return x.(*ast.Ident).Name
}
