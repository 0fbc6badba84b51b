package testkit

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// signature is an exported function or method, or a method of an interface, with its types as text.
type signature struct {
	at              string // position in the source
	owner           string // "spread.HardState", or "spread" for a function
	name            string
	method          bool
	names           []string // of the parameters
	params, results []string
}

func (s signature) String() string { return s.owner + "." + s.name }

// notVerbs are methods with the name of a verb that ask or do something else, each with the reason.
var notVerbs = map[string]string{
	"devices.Search.Explain":        "of a node, without a cluster",
	"filter.Predicates.Reasons":     "of a rejection by one predicate of a list",
	"filter.PreFilters.Add":         "collects the answers of plugins",
	"filter.Histogram.Add":          "counts nodes by rejection",
	"placement.whatIf.Check":        "preemption.WhatIf: the answer of all filters together",
	"placement.whatIf.Reasons":      "preemption.WhatIf: of the answer of all filters together",
	"preemption.WhatIf.Check":       "the answer of all filters together",
	"preemption.WhatIf.Reasons":     "of the answer of all filters together",
	"preemption.viewWhatIf.Check":   "preemption.WhatIf: the answer of all filters together",
	"preemption.viewWhatIf.Reasons": "preemption.WhatIf: of the answer of all filters together",
	"queue.Queue.Add":               "a queue has no slots",
	"queue.Queue.Explain":           "a queue has no slots",
	"queue.nominator.Remove":        "a queue has no slots",
	"resources.Schema.Name":         "the name of a column",
}

// The verbs of docs/design.md: the functions and methods of the library that have the name of a verb have the form that the
// table gives it, and every verb of the table is in use.
func TestVerbs(t *testing.T) {
	all := signatures(t)
	used := map[string]bool{}
	for _, form := range verbForms(t) {
		found := 0
		for _, s := range all {
			if reason := notVerbs[s.String()]; reason != "" {
				used[s.String()] = used[s.String()] || s.name == form.name
				continue
			}
			if !form.names(s) {
				continue
			}
			found++
			if !form.fits(s) {
				t.Errorf("%s: %s%v %v: the form of the verb in docs/design.md is %s", s.at, s, s.params, s.results, form.text)
			}
		}
		if found == 0 {
			t.Errorf("docs/design.md: nothing has the verb %s", form.name)
		}
	}
	for name := range notVerbs {
		if !slices.ContainsFunc(all, func(s signature) bool { return s.String() == name }) {
			t.Errorf("notVerbs: %s does not exist", name)
		} else if !used[name] {
			t.Errorf("notVerbs: %s has no verb's name", name)
		}
	}
}

// The laws of all signatures: a slot is an int and stands before a number, no parameter is a bool, and Fits says what fits.
func TestSignatures(t *testing.T) {
	for _, s := range signatures(t) {
		slot, number := slices.IndexFunc(s.names, isSlot), slices.Index(s.names, "n")
		switch {
		case slices.Contains(s.params, "bool") && !slices.Equal(s.names, []string{"dst", "f"}): // key.Flag writes a bool
			t.Errorf("%s: %s has a bool parameter", s.at, s)
		case slot >= 0 && s.params[slot] != "int":
			t.Errorf("%s: %s: a slot is an int, not %s", s.at, s, s.params[slot])
		case slot >= 0 && number >= 0 && number < slot:
			t.Errorf("%s: %s: the slot stands before the number", s.at, s)
		case s.name == "Fits" && !slices.Equal(s.results, []string{"bool"}):
			t.Errorf("%s: %s returns what fits: a bool", s.at, s)
		case s.name == "Lacks" && !strings.HasPrefix(strings.Join(s.results, ","), "[]"):
			t.Errorf("%s: %s returns what is missing: a list", s.at, s)
		}
	}
}

func isSlot(name string) bool { return name == "i" || name == "slot" }

// verbForm is the form of one verb in the table.
type verbForm struct {
	name            string // "Compile…" is every name that begins with Compile, "…Hint" every name that ends with Hint
	text            string
	method          bool // the form has a receiver: only methods have the verb
	params, results []string
}

// names reports whether s has the verb.
func (f verbForm) names(s signature) bool {
	if f.method && !s.method {
		return false
	}
	switch {
	case strings.HasPrefix(f.name, "…"):
		return strings.HasSuffix(s.name, f.name[len("…"):])
	case strings.Contains(f.name, "…"):
		before, after, _ := strings.Cut(f.name, "…")
		key := strings.HasSuffix(s.name, "Key") // Append…Key is a verb of its own
		return !s.method && strings.HasPrefix(s.name, before) && strings.HasSuffix(s.name, after) && (key == (after == "Key"))
	case f.name == "Add" || f.name == "Remove": // of a pod; a ledger or a list has other elements
		return s.name == f.name && len(s.params) > 0 && s.params[0] == "*v1.Pod"
	}
	return s.name == f.name
}

// fits reports whether s has the form: the same types in the same order. A placeholder is any type that is not a bool or an
// integer, the same at every place. An ellipsis is any number of types.
func (f verbForm) fits(s signature) bool {
	bound := map[string]string{}
	return sameTypes(f.params, s.params, bound) && sameTypes(f.results, s.results, bound)
}

var (
	placeholders = []string{"Cluster", "Evaluator", "State", "Trial", "T"}
	basic        = []string{"bool", "int", "int32", "int64", "uint16", "string"}
)

func sameTypes(form, types []string, bound map[string]string) bool {
	for k, want := range form {
		if want == "…" {
			return true
		}
		if k >= len(types) {
			return false
		}
		have := types[k]
		if rest, ok := strings.CutPrefix(want, "[]"); ok && slices.Contains(placeholders, rest) && strings.HasPrefix(have, "[]") {
			want, have = rest, have[len("[]"):]
		}
		switch {
		case !slices.Contains(placeholders, want):
			if want != have {
				return false
			}
		case slices.Contains(basic, have) && want != "T", bound[want] != "" && bound[want] != have:
			return false
		}
		bound[want] = have
	}
	return len(form) == len(types)
}

var (
	verbRow  = regexp.MustCompile(`(?m)^\| ([^|]+) \| (.*?) \| `)
	codeSpan = regexp.MustCompile("`([^`]+)`")
	formText = regexp.MustCompile(`^(\([a-z]+\) )?(\S+?)(\(.*)$`)
)

// verbForms reads the table of docs/design.md. A form is `(s) Name(parameters) results`.
func verbForms(t *testing.T) (forms []verbForm) {
	text, err := os.ReadFile(filepath.Join(root, "docs/design.md"))
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(text), "\n## Verbs\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	for _, row := range verbRow.FindAllStringSubmatch(section, -1) {
		if row[1] == "verb" || row[1] == "---" {
			continue
		}
		spans := codeSpan.FindAllStringSubmatch(row[2], -1)
		require.NotEmpty(t, spans, "%s has no form", row[1])
		for _, span := range spans {
			m := formText.FindStringSubmatch(span[1])
			require.NotNil(t, m, "%s: %q is no form", row[1], span[1])
			require.Contains(t, row[1], m[2], "a form of another verb")
			params, results, _ := strings.Cut(m[3], ")")
			x, err := parser.ParseExpr("func" + strings.ReplaceAll(params, "…", "_ Ellipsis") + ")" + strings.ReplaceAll(results, "…", "Ellipsis"))
			require.NoError(t, err, span[1])
			fn := x.(*ast.FuncType)
			f := verbForm{name: m[2], text: span[1], method: m[1] != ""}
			_, f.params = fieldTypes(fn.Params)
			_, f.results = fieldTypes(fn.Results)
			for _, list := range [][]string{f.params, f.results} {
				for k := range list {
					list[k] = strings.ReplaceAll(list[k], "Ellipsis", "…")
				}
			}
			forms = append(forms, f)
		}
	}
	require.Greater(t, len(forms), 20)
	return forms
}

// signatures returns the exported functions and methods of the library, and the methods of its interfaces.
func signatures(t *testing.T) (all []signature) {
	dirs := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			if slices.Contains([]string{"conformance", "examples", "testkit", "testdata", ".git", "docs"}, d.Name()) {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != root {
				return filepath.SkipDir // another module
			}
			dirs[path] = true
		}
		return err
	}))
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		folder, err := filepath.Rel(root, dir)
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			add := func(pos token.Pos, owner, name string, method bool, fn *ast.FuncType) {
				if !ast.IsExported(name) {
					return
				}
				s := signature{at: fset.Position(pos).String(), owner: filepath.ToSlash(folder), name: name, method: method}
				if owner != "" {
					s.owner += "." + owner
				}
				s.names, s.params = fieldTypes(fn.Params)
				_, s.results = fieldTypes(fn.Results)
				all = append(all, s)
			}
			for _, d := range f.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					add(d.Pos(), receiverName(d.Recv), d.Name.Name, d.Recv != nil, d.Type)
				case *ast.GenDecl:
					for _, spec := range d.Specs {
						typ, ok := spec.(*ast.TypeSpec)
						if !ok {
							continue
						}
						if i, ok := typ.Type.(*ast.InterfaceType); ok {
							for _, m := range i.Methods.List {
								if fn, ok := m.Type.(*ast.FuncType); ok {
									add(m.Pos(), typ.Name.Name, m.Names[0].Name, true, fn)
								}
							}
						}
					}
				}
			}
		}
	}
	require.Greater(t, len(all), 500)
	return all
}

func receiverName(list *ast.FieldList) string {
	if list == nil {
		return ""
	}
	x := list.List[0].Type
	if star, ok := x.(*ast.StarExpr); ok {
		x = star.X
	}
	switch index := x.(type) {
	case *ast.IndexExpr:
		x = index.X
	case *ast.IndexListExpr:
		x = index.X
	}
	return typeText(x)
}

// fieldTypes returns the names and types of parameters or results, one for each; a name may be "".
func fieldTypes(list *ast.FieldList) (names, types []string) {
	if list == nil {
		return nil, nil
	}
	for _, f := range list.List {
		text := typeText(f.Type)
		if len(f.Names) == 0 {
			names, types = append(names, ""), append(types, text)
		}
		for _, name := range f.Names {
			names, types = append(names, name.Name), append(types, text)
		}
	}
	return names, types
}

func typeText(x ast.Expr) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), x); err != nil {
		return err.Error()
	}
	return b.String()
}
