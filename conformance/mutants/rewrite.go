package main

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// declared has the declarations of helpers without their bodies' imports, for checking types.
const declared = `package %s

func mutantOn(number int) bool { return false }

func mutantPick[T any](number int, mutated, original T) T { return original }

func mutantNever(number int, reached bool) bool { return reached }

func mutantRun(function int) {}
`

// helpers is the file that the changed package gets in addition.
const helpers = `package %s

import mutantSwitches "%s/internal/mutantswitches"

func mutantOn(number int) bool { return mutantSwitches.On(number) }

func mutantPick[T any](number int, mutated, original T) T {
	if mutantSwitches.On(number) {
		return mutated
	}
	return original
}

func mutantNever(number int, reached bool) bool { return mutantSwitches.Never(number, reached) }

func mutantRun(function int) { mutantSwitches.Run(function) }
`

// targets is the file that the tests of the changed package get in addition. Fuzz targets call it instead of the fuzzing engine.
const targets = `package %s

import (
	mutantInputs "%s/internal/mutantinputs"
	"testing"
)

func mutantAdd(f *testing.F, args ...any) { mutantInputs.Add(f, args...) }

func mutantFuzz(f *testing.F, check any) { mutantInputs.Fuzz(f, check) }
`

// functions numbers the functions that have mutations, by file and name.
func functions(list []*mutation) map[[2]string]int {
	out := map[[2]string]int{}
	for _, m := range list {
		k := [2]string{m.file.path, m.function}
		if _, ok := out[k]; !ok {
			out[k] = len(out)
		}
	}
	return out
}

// numbered is an edit of a mutation with a number.
type numbered struct {
	edit
	number int
}

// guard makes the place of a mutation panic when an input reaches it: a condition that holds, an error that is returned, or any other
// statement.
func (m *mutation) guard(number int, text string) string {
	if m.operator == term {
		return fmt.Sprintf("mutantNever(%d, %s)", number, text)
	}
	reached := "true"
	if rest, ok := strings.CutSuffix(m.old, "err"); ok && m.new == rest+"nil" {
		reached = "err != nil"
	}
	return fmt.Sprintf("mutantNever(%d, %s); %s", number, reached, text)
}

// rewrite returns the text of the files with the mutations, which get their numbers. A function with mutations also says
// that it runs.
func (u *unit) rewrite(list []*mutation) map[string][]byte {
	edits := map[*source][]numbered{}
	for k, m := range list {
		m.number = k + 1
		for _, e := range m.edits {
			if m.never {
				e.wrap = m.guard
			}
			edits[m.file] = append(edits[m.file], numbered{e, m.number})
		}
	}
	ids := functions(list)
	out := map[string][]byte{}
	for _, f := range u.files {
		all := edits[f]
		for _, d := range f.tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			id, ok := ids[[2]string{f.path, nameOf(fn)}]
			if !ok {
				continue
			}
			at := u.fset.Position(fn.Body.Lbrace).Offset + 1
			all = append(all, numbered{edit{at, at, func(int, string) string {
				return fmt.Sprintf(" mutantRun(%d);", id)
			}}, 0})
		}
		slices.SortStableFunc(all, func(a, b numbered) int {
			if a.from != b.from {
				return a.from - b.from
			}
			return b.to - a.to
		})
		out[f.path] = []byte(render(f.text, 0, len(f.text), all))
	}
	return out
}

// render returns text[from:to] with the edits, which are sorted: outer edits before inner ones.
func render(text []byte, from, to int, edits []numbered) string {
	var b strings.Builder
	for len(edits) > 0 {
		outer := edits[0]
		same := 1
		for same < len(edits) && edits[same].from == outer.from && edits[same].to == outer.to {
			same++
		}
		end := same
		for end < len(edits) && edits[end].from < outer.to {
			end++
		}
		b.Write(text[from:outer.from])
		inner := render(text, outer.from, outer.to, edits[same:end])
		for _, e := range edits[:same] {
			inner = e.wrap(e.number, inner)
		}
		b.WriteString(inner)
		from, edits = outer.to, edits[end:]
	}
	b.Write(text[from:to])
	return b.String()
}

// compilable returns the mutations that compile. A mutation that leaves a function without its return, for example, does not compile.
func (u *unit) compilable(list []*mutation) ([]*mutation, error) {
	check := func(list []*mutation) (map[[2]string]error, error) {
		texts := u.rewrite(list)
		texts[u.folder+"/mutants_helpers.go"] = fmt.Appendf(nil, declared, u.name)
		return u.errorsOf(texts)
	}
	suspects, err := check(list)
	if err != nil || len(suspects) == 0 {
		return list, err
	}
	var turns [][]*mutation // of each function with errors the first mutation, of each the second, and so on
	nth := map[[2]string]int{}
	for _, m := range list {
		in := [2]string{m.file.path, m.function}
		if suspects[in] == nil {
			continue
		}
		if nth[in] == len(turns) {
			turns = append(turns, nil)
		}
		turns[nth[in]] = append(turns[nth[in]], m)
		nth[in]++
	}
	refused := map[*mutation]bool{}
	for _, turn := range turns {
		failed, err := check(turn)
		if err != nil {
			return nil, err
		}
		for _, m := range turn {
			refused[m] = failed[[2]string{m.file.path, m.function}] != nil
		}
	}
	out := slices.DeleteFunc(slices.Clone(list), func(m *mutation) bool { return refused[m] })
	left, err := check(out)
	if err != nil {
		return nil, err
	}
	for _, e := range left {
		return nil, fmt.Errorf("the mutations do not compile together: %w", e)
	}
	return out, nil
}
