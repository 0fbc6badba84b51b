package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// module is a module of the proxy. toolchain is the Go that it needs, as GOTOOLCHAIN has it; "" is the one that runs this program.
type module struct{ path, version, toolchain string }

// copied calls do with a temporary copy, and deletes it. In the module cache files are read-only.
func (m module) copied(do func(dir string) error) error {
	dir, err := os.MkdirTemp("", "importers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if m.toolchain != "" {
		if err := os.Setenv("GOTOOLCHAIN", m.toolchain); err != nil {
			return err
		}
	}
	if _, err := command(dir, "mod", "download", m.path+"@"+m.version); err != nil {
		return err
	}
	cache, err := command(dir, "env", "GOMODCACHE")
	if err != nil {
		return err
	}
	from := os.DirFS(filepath.Join(strings.TrimSpace(string(cache)), filepath.FromSlash(m.path)+"@"+m.version))
	if err := os.CopyFS(dir, from); err != nil {
		return err
	}
	return do(dir)
}

// add writes files by their path in a copy.
func add(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// link lets a copy import the modules in folders of the tree.
func link(dir, tree string, folders []string) error {
	for _, folder := range folders {
		out, err := command(filepath.Join(tree, folder), "list", "-m")
		if err != nil {
			return err
		}
		path := strings.TrimSpace(string(out))
		if _, err := command(dir, "mod", "edit", "-require", path+"@v0.1.0", "-replace", path+"="+filepath.Join(tree, folder)); err != nil {
			return err
		}
	}
	return nil
}

// rename puts "replaced" before the names of functions where they are declared. Each must be declared once.
func rename(dir, name string, functions []string) error {
	file := filepath.Join(dir, filepath.FromSlash(name))
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	var at []int
	for _, decl := range parsed.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && slices.Contains(functions, f.Name.Name) {
			at = append(at, set.Position(f.Name.Pos()).Offset)
		}
	}
	if len(at) != len(functions) {
		return fmt.Errorf("%s declares %d of %v", file, len(at), functions)
	}
	slices.Sort(at)
	for _, offset := range slices.Backward(at) {
		text = slices.Concat(text[:offset], []byte("replaced"), text[offset:])
	}
	return os.WriteFile(file, text, 0o644)
}

// environment is that of go commands in a copy: no workspace, and go.mod may grow.
func environment() []string {
	return append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod -buildvcs=false")
}

// command runs the go command. The output is in the error.
func command(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, environment()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return out, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out[:min(len(out), 4000)])
	}
	return out, nil
}
