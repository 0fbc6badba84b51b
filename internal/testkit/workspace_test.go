package testkit

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// built is a package of a published module, or one that such a package imports.
type built struct {
	ImportPath, Name, Dir, Export string
	GoFiles                       []string
	files                         []*ast.File // of packages of the tree
}

// folder returns the folder of a package of the tree, and reports whether the package is one.
func (b *built) folder() (string, bool) {
	rest, ok := strings.CutPrefix(b.ImportPath, module)
	return path.Clean("." + rest), ok && (rest == "" || rest[0] == '/')
}

// workspace has the packages of the published modules and all that they import, compiled.
type workspace struct {
	all    map[string]*built // by import path
	fset   *token.FileSet
	lookup types.Importer
}

var compiled = sync.OnceValues(func() (*workspace, error) {
	dir, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Name,Dir,Export,GoFiles", "work")
	cmd.Dir, cmd.Stderr, cmd.Env = dir, os.Stderr, append(os.Environ(), "GOWORK="+filepath.Join(dir, "go.work"))
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	w := &workspace{all: map[string]*built{}, fset: token.NewFileSet()}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		b := &built{}
		if err := dec.Decode(b); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		w.all[b.ImportPath] = b
		if _, ours := b.folder(); !ours {
			continue
		}
		for _, name := range b.GoFiles {
			f, err := parser.ParseFile(w.fset, filepath.Join(b.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			b.files = append(b.files, f)
		}
	}
	w.lookup = importer.ForCompiler(w.fset, "gc", func(path string) (io.ReadCloser, error) {
		if b := w.all[path]; b != nil && b.Export != "" {
			return os.Open(b.Export)
		}
		return nil, fmt.Errorf("no package of the published modules imports %s", path)
	})
	return w, nil
})

// compiledWorkspace returns the packages of the published modules, compiled by the go command or taken from its cache.
func compiledWorkspace(t *testing.T) *workspace {
	t.Helper()
	w, err := compiled()
	require.NoError(t, err)
	return w
}

// own returns the packages of the tree by folder.
func (w *workspace) own() map[string]*built {
	out := map[string]*built{}
	for _, b := range w.all {
		if folder, ours := b.folder(); ours {
			out[folder] = b
		}
	}
	return out
}

// has reports whether a package has an exported name: "" for the package itself, "Name",
// "Type.Member" for a method or field, or "Type.Field.Member".
func (w *workspace) has(importPath, name string) bool {
	if w.all[importPath] == nil {
		return false
	}
	if name == "" || importPath == "unsafe" {
		return true
	}
	p, err := w.lookup.Import(importPath)
	if err != nil {
		return false
	}
	name, members, _ := strings.Cut(name, ".")
	o := p.Scope().Lookup(name)
	if _, isType := o.(*types.TypeName); members != "" && !isType {
		return false
	}
	for o != nil && members != "" {
		name, members, _ = strings.Cut(members, ".")
		o, _, _ = types.LookupFieldOrMethod(o.Type(), true, p, name)
	}
	return o != nil && o.Exported()
}

// imported returns the import path of a package's short name in the files of b: one that b imports, b itself, or the only package
// with the name outside tools, or of the standard library.
func (w *workspace) imported(b *built, name string) string {
	if name == b.Name {
		return b.ImportPath
	}
	for _, f := range b.files {
		for _, spec := range f.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue
			}
			if spec.Name != nil && spec.Name.Name == name || spec.Name == nil && w.all[imp] != nil && w.all[imp].Name == name {
				return imp
			}
		}
	}
	var found []string
	for imp, other := range w.all {
		if _, ours := other.folder(); ours && other.Name == name && !strings.Contains(imp+"/", "/internal/") && !strings.HasPrefix(imp, module+"/tools/") {
			found = append(found, imp)
		}
	}
	if len(found) == 1 {
		return found[0]
	}
	if w.all[name] != nil {
		return name
	}
	return ""
}
