package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// unit is a package with its types.
type unit struct {
	root, folder string
	fset         *token.FileSet
	files        []*source
	info         *types.Info
	name         string
	pkg          *types.Package
	imports      types.Importer
}

// source is one file of a package.
type source struct {
	path string // in the repository, with slashes
	text []byte
	tree *ast.File
}

// load parses and checks the package in a folder. The types of what it imports come from the compiler's export data.
func load(root, folder string) (*unit, error) {
	out, err := goCommand(root, "list", "-export", "-deps", "-json=ImportPath,Dir,Name,GoFiles,Export,DepOnly", "./"+folder)
	if err != nil {
		return nil, err
	}
	type listed struct {
		ImportPath, Dir, Name, Export string
		GoFiles                       []string
		DepOnly                       bool
	}
	exports := map[string]string{}
	u := &unit{root: root, folder: folder, fset: token.NewFileSet()}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if p.DepOnly {
			continue
		}
		u.name = p.Name
		for _, name := range p.GoFiles {
			f := &source{path: filepath.ToSlash(filepath.Join(folder, name))}
			if f.text, err = os.ReadFile(filepath.Join(p.Dir, name)); err != nil {
				return nil, err
			}
			if f.tree, err = parser.ParseFile(u.fset, f.path, f.text, parser.SkipObjectResolution); err != nil {
				return nil, err
			}
			u.files = append(u.files, f)
		}
	}
	u.imports = importer.ForCompiler(u.fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(exports[path])
	})
	u.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	var trees []*ast.File
	for _, f := range u.files {
		trees = append(trees, f.tree)
	}
	u.pkg, err = (&types.Config{Importer: u.imports}).Check(folder, u.fset, trees, u.info)
	return u, err
}

// errorsOf checks changed texts of the files and returns the functions that have errors, by file and name, with the first error of each. An
// error outside of functions has an empty name.
func (u *unit) errorsOf(texts map[string][]byte) (map[[2]string]error, error) {
	fset := token.NewFileSet()
	trees := map[string]*ast.File{}
	for path, text := range texts {
		tree, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("a mutation that is no Go: %w", err)
		}
		trees[path] = tree
	}
	out := map[[2]string]error{}
	config := types.Config{Importer: u.imports, Error: func(err error) {
		var e types.Error
		if errors.As(err, &e) && !e.Soft {
			path := fset.Position(e.Pos).Filename
			if k := [2]string{path, functionAt(trees[path], e.Pos)}; out[k] == nil {
				out[k] = err
			}
		}
	}}
	_, err := config.Check(u.folder, fset, slices.Collect(maps.Values(trees)), nil)
	if err != nil && len(out) == 0 {
		out[[2]string{}] = err
	}
	return out, nil
}

// functionAt names the function around a place, "" for none.
func functionAt(tree *ast.File, at token.Pos) string {
	if tree == nil {
		return ""
	}
	for _, d := range tree.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Pos() <= at && at <= fn.End() {
			return nameOf(fn)
		}
	}
	return ""
}

func (f *source) at(fset *token.FileSet, n ast.Node) (from, to int) {
	return fset.Position(n.Pos()).Offset, fset.Position(n.End()).Offset
}

func (f *source) of(fset *token.FileSet, n ast.Node) string {
	from, to := f.at(fset, n)
	return string(f.text[from:to])
}
