package main

import (
	"fmt"
	"go/ast"
	"go/token"
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

import (
	mutantOS "os"
	mutantStrconv "strconv"
	mutantStrings "strings"
	mutantSync "sync"
	mutantAtomic "sync/atomic"
)

// mutantNumber says which mutation is on: 0 for none. -1 asks for the functions that run. With a comma, the mutations of mutantSet
// are on together, places that no input reaches panic, and all of them are counted.
var mutantNumber, mutantSet = func() (int, []bool) {
	text := mutantOS.Getenv("PODBERTH_MUTANT")
	n, err := mutantStrconv.Atoi(text)
	if err == nil || text == "" {
		return n, nil
	}
	set := make([]bool, %[2]d)
	for _, f := range mutantStrings.Split(text, ",") {
		if n, err := mutantStrconv.Atoi(f); err == nil {
			set[n] = true
		}
	}
	return 0, set
}()

func mutantOn(number int) bool {
	return mutantNumber == number || mutantSet != nil && mutantTogether(number)
}

func mutantTogether(number int) bool {
	if mutantSet[number] {
		mutantCount("m", number, &mutantPlaces[number])
	}
	return mutantSet[number]
}

func mutantPick[T any](number int, mutated, original T) T {
	if mutantOn(number) {
		return mutated
	}
	return original
}

func mutantNever(number int, reached bool) bool {
	if mutantOn(number) && reached {
		panic("mutation " + mutantStrconv.Itoa(number) + " is reached")
	}
	return reached
}

func mutantRun(function int) {
	if mutantNumber == -1 || mutantSet != nil {
		mutantCount("f", function, &mutantFunctions[function])
	}
}

var (
	mutantPlaces    [%[2]d]mutantAtomic.Int64
	mutantFunctions [%[3]d]mutantAtomic.Int64
)

var mutantHits struct {
	mutantSync.Mutex
	file *mutantOS.File
	line []byte
}

// mutantCount writes the first, the 1,000th, the 2,000th execution and so on, up to a million. It takes no memory, because tests measure that.
func mutantCount(kind string, k int, counter *mutantAtomic.Int64) {
	const step = 1000
	n := counter.Add(1)
	if n != 1 && n %% step != 0 || n > step*step {
		return
	}
	more := int64(step)
	if n == 1 {
		more = 1
	} else if n == step {
		more = step - 1
	}
	h := &mutantHits
	h.Lock()
	defer h.Unlock()
	var err error
	if h.file == nil {
		h.line = make([]byte, 0, 100)
		h.file, err = mutantOS.OpenFile(mutantOS.Getenv("PODBERTH_MUTANT_HITS"), mutantOS.O_APPEND|mutantOS.O_CREATE|mutantOS.O_WRONLY, 0o600)
	}
	if err == nil {
		h.line = append(h.line[:0], kind...)
		h.line = mutantStrconv.AppendInt(append(h.line, ' '), int64(k), 10)
		h.line = mutantStrconv.AppendInt(append(h.line, ' '), more, 10)
		_, err = h.file.Write(append(h.line, '\n'))
	}
	if err != nil {
		panic(err)
	}
}
`

// inputs is the file that the tests of the changed package get in addition. Fuzz targets get random inputs as well, which takes a tenth of
// the time that they take from the fuzzing engine.
const inputs = `package %s

import (
	mutantRand "math/rand/v2"
	mutantOS "os"
	mutantReflect "reflect"
	mutantStrconv "strconv"
	mutantStrings "strings"
	mutantTesting "testing"
)

func mutantFuzz(f *mutantTesting.F, check any) {
	first, count, _ := mutantStrings.Cut(mutantOS.Getenv("PODBERTH_MUTANT_INPUTS"), "+")
	seed, _ := mutantStrconv.ParseUint(first, 10, 64)
	n, _ := mutantStrconv.Atoi(count)
	typ := mutantReflect.TypeOf(check)
	for range n {
		random := mutantRand.New(mutantRand.NewPCG(seed, 1))
		seed++
		var args []any
		for k := 1; k < typ.NumIn(); k++ {
			args = append(args, mutantInput(random, typ.In(k)))
		}
		f.Add(args...)
	}
	f.Fuzz(check)
}

func mutantInput(random *mutantRand.Rand, typ mutantReflect.Type) any {
	value := mutantReflect.New(typ).Elem()
	switch typ.Kind() {
	case mutantReflect.Bool:
		value.SetBool(random.IntN(2) == 1)
	case mutantReflect.Slice, mutantReflect.String:
		text := make([]byte, random.IntN(200))
		letters := random.IntN(2) == 1
		for i := range text {
			text[i] = byte(random.Uint32())
			if letters {
				text[i] = "azAZ019.-/_+:=,<>()[]{} \"'\n"[int(text[i])%%27]
			}
		}
		value.Set(mutantReflect.ValueOf(text).Convert(typ))
	case mutantReflect.Int, mutantReflect.Int8, mutantReflect.Int16, mutantReflect.Int32, mutantReflect.Int64:
		value.SetInt(int64(random.Uint64()) >> random.IntN(64))
	case mutantReflect.Uint, mutantReflect.Uint8, mutantReflect.Uint16, mutantReflect.Uint32, mutantReflect.Uint64:
		value.SetUint(random.Uint64() >> random.IntN(64))
	default:
		panic("no inputs of type " + typ.String())
	}
	return value.Interface()
}
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

// compilable returns the mutations that compile. A mutation that leaves a variable unused, for example, does not compile.
func (u *unit) compilable(list []*mutation) ([]*mutation, error) {
	check := func(list []*mutation) ([]token.Position, error) {
		texts := u.rewrite(list)
		texts[u.folder+"/mutants_helpers.go"] = fmt.Appendf(nil, declared, u.name)
		return u.errorsOf(texts)
	}
	refused, err := check(list)
	if err != nil || len(refused) == 0 {
		return list, err
	}
	suspects := map[[2]string]bool{}
	for _, p := range refused {
		for _, f := range u.files {
			if f.path == p.Filename {
				suspects[[2]string{f.path, u.functionAt(f, p.Line)}] = true
			}
		}
	}
	var out []*mutation
	for _, m := range list {
		if suspects[[2]string{m.file.path, m.function}] {
			alone, err := check([]*mutation{m})
			if err != nil {
				return nil, err
			}
			if len(alone) > 0 {
				continue
			}
		}
		out = append(out, m)
	}
	if refused, err = check(out); err == nil && len(refused) > 0 {
		err = fmt.Errorf("the mutations do not compile together: %v", refused[0])
	}
	return out, err
}

// functionAt returns the function at a line. Rewriting keeps lines.
func (u *unit) functionAt(f *source, line int) string {
	for _, d := range f.tree.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && u.fset.Position(fn.Pos()).Line <= line && line <= u.fset.Position(fn.End()).Line {
			return nameOf(fn)
		}
	}
	return ""
}
