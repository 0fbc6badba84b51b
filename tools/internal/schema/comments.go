package schema

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
)

// module is the path of the root module, and root its folder as a package in tools/NAME or tools/internal/NAME sees it.
const module = "github.com/podberth/podberth"

// comments are the comments of the fields of structs, by package and type, as far as their packages were read.
type comments map[string]map[string]map[string]string

// of returns the comment of a field in one line, "" without one. The error is that of reading the package of the type.
func (c comments) of(t reflect.Type, field string) (string, error) {
	path := t.PkgPath()
	if c[path] == nil {
		below, ok := strings.CutPrefix(path, module+"/")
		if !ok {
			return "", fmt.Errorf("%s is no type of podberth", t)
		}
		types, err := read(filepath.Join(root(), below))
		if err != nil {
			return "", err
		}
		c[path] = types
	}
	fields, ok := c[path][t.Name()]
	if !ok {
		return "", fmt.Errorf("%s has no source in %s", t, path)
	}
	return fields[field], nil
}

// read returns the comments of the structs of a folder, above the fields and behind them.
func read(dir string) (map[string]map[string]string, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	types := map[string]map[string]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					types[spec.Name.Name] = fields(s)
				}
			}
			return true
		})
	}
	return types, nil
}

func fields(s *ast.StructType) map[string]string {
	out := map[string]string{}
	for _, f := range s.Fields.List {
		text := strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
		for _, name := range f.Names {
			out[name.Name] = text
		}
	}
	return out
}
