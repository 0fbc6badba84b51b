package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
)

// replace puts podberth under the named functions of a copy.
func (p project) replace(dir, tree string) error {
	for name, functions := range p.rename {
		if err := rename(filepath.Join(dir, name), functions); err != nil {
			return err
		}
	}
	for name, text := range p.add {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, folder := range p.ours {
		module, err := command(filepath.Join(tree, folder), "list", "-m")
		if err != nil {
			return err
		}
		path := string(module[:len(module)-1])
		if _, err := command(dir, "mod", "edit", "-require", path+"@v0.1.0", "-replace", path+"="+filepath.Join(tree, folder)); err != nil {
			return err
		}
	}
	return nil
}

// rename puts "replaced" before the names of functions where they are declared. Each must be declared once.
func rename(file string, functions []string) error {
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
