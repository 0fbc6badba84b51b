package main

import (
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// code has one function for each operator.
const code = `package a

import "time"

type T struct{ n int }

func (t *T) Relation(a, b int) bool { return a == b }

func Boundary(a, b int) bool {
	ok := a < b
	return ok
}

func Term(a, b bool) bool {
	if a && b {
		return true
	}
	if a {
		return b
	}
	return false
}

func Negation(a bool) (b bool) {
	b = !a
	return
}

const most = 3

func Constant() (time.Duration, int) {
	var n [2]int
	table := map[string]int{"x": 1 << 4}
	return 2 * time.Second, most + len(n) + table["x"]
}

func Swap(a, b int) int {
	n := less(a, b) + less(a, a) + min(a, b)
	return n
}

func less(a, b int) int {
	n := a - b
	return n
}

func Absent(n int) (int, bool) {
	return 0, false
}

func Delete(n int) int {
	n++
	for n < 10 {
		n *= 2
		if n == 8 {
			continue
		}
		println(n)
	}
	_ = n
	return n
}

func Return(err error, t *T) (*T, error) {
	room := make([]int, 0, 8)
	room = make([]int, 0, 9)
	_ = room
	return t, err
}
`

const tests = `package a

import "testing"

func TestRelation(t *testing.T) {
	if !(&T{}).Relation(1, 1) || (&T{}).Relation(1, 2) {
		t.Error("equal")
	}
}

func TestBoundary(t *testing.T) {
	if !Boundary(1, 2) || Boundary(2, 1) {
		t.Error("less")
	}
}

func TestDelete(t *testing.T) {
	if n := Delete(3); n != 16 {
		t.Error(n)
	}
}
`

// module writes a module with package a and returns its folder.
func module(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/m\n\ngo 1.26\n", "a/a.go": code, "a/a_test.go": tests} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	return root
}

func TestFind(t *testing.T) {
	u, err := load(module(t), "a")
	require.NoError(t, err)
	got := map[string][]string{}
	for _, m := range u.find() {
		got[m.function] = append(got[m.function], m.operator+": "+m.change())
	}
	require.Equal(t, map[string][]string{
		"T.Relation": {"return: return a == b -> return !(a == b)", "relation: a == b -> a != b"},
		"Boundary":   {"return: return ok -> return !(ok)", "boundary: a < b -> a <= b", "relation: a < b -> a > b"},
		"Term": {"return: return false -> return !(false)", "term: a && b -> b", "term: a && b -> a", "return: return true -> return !(true)",
			"term: a -> true", "term: a -> false", "return: return b -> return !(b)"},
		"Negation": {"delete: b = !a -> ", "delete: return -> ", "negation: !a -> a"},
		"Constant": {"constant: 1 << 4 -> 17", "constant: 1 << 4 -> 15", "constant: 2 * time.Second -> 2000000001", "constant: 2 * time.Second -> 1999999999",
			"term: most + len(n) + table[\"x\"] -> most + len(n)", "relation: most + len(n) + table[\"x\"] -> most + len(n) - table[\"x\"]",
			"term: most + len(n) + table[\"x\"] -> table[\"x\"]", "constant: most + len(n) -> 6", "constant: most + len(n) -> 4"},
		"Swap":   {"swap: less(a, b) -> less(b, a)"},
		"less":   {"term: a - b -> a", "relation: a - b -> a + b"},
		"Absent": {"return: return 0, false -> return 0, !(false)"},
		"Delete": {"delete: n++ -> ", "term: n < 10 -> true", "term: n < 10 -> false", "boundary: n < 10 -> n <= 10", "relation: n < 10 -> n > 10",
			"constant: 10 -> 11", "constant: 10 -> 9", "delete: n *= 2 -> ", "delete: println(n) -> ", "constant: 2 -> 3", "constant: 2 -> 1",
			"term: n == 8 -> true", "term: n == 8 -> false", "relation: n == 8 -> n != 8", "constant: 8 -> 9", "constant: 8 -> 7", "delete: continue -> "},
		"Return": {"return: return t, err -> return nil, err", "return: return t, err -> return t, nil"},
	}, got)
}

func TestExamine(t *testing.T) {
	root := module(t)
	u, err := load(root, "a")
	require.NoError(t, err)
	all := u.find()
	list, err := u.compilable(all)
	require.NoError(t, err)
	require.Len(t, list, len(all)-1, "a function without its only return does not compile")

	r, err := settings{seed: 1, sample: 8}.examine(root, "a")
	require.NoError(t, err)
	require.Equal(t, 8, r.tried, "one of each operator")

	b, err := u.build(t.TempDir(), list, u.folder)
	require.NoError(t, err)
	ids := functions(list)
	require.NoError(t, b.measure(len(ids), nil))
	noticed := map[string]bool{}
	for _, m := range list {
		if m.function == "T.Relation" || m.function == "Boundary" {
			noticed[m.operator+" "+m.change()], err = b.try(m.number, b.reach[ids[[2]string{"a/a.go", m.function}]])
			require.NoError(t, err)
		}
	}
	require.Equal(t, map[string]bool{
		"return return a == b -> return !(a == b)": true, "relation a == b -> a != b": true,
		"return return ok -> return !(ok)": true, "boundary a < b -> a <= b": false, "relation a < b -> a > b": true,
	}, noticed)
	require.Empty(t, b.reach[ids[[2]string{"a/a.go", "Swap"}]], "no test runs it")
}

func TestEquivalent(t *testing.T) {
	u, err := load(module(t), "a")
	require.NoError(t, err)
	all := u.find()
	line := func(fields ...string) string { return strings.Join(fields, "\t") + "\n" }
	known, err := parseEquivalents("a.txt", line("a/a.go", "Boundary", "boundary", "a < b -> a <= b", "1", "-", "7", "all", "the caller never asks about equal ones"))
	require.NoError(t, err)
	list, alike, err := split("a", all, known)
	require.NoError(t, err)
	require.Len(t, list, len(all)-1)
	require.Equal(t, "a/a.go:10 Boundary [boundary 1] a < b -> a <= b", alike[0].mutation.String())
	require.Equal(t, 7, alike[0].ran)
	require.Equal(t, known[0].text(), line(alike[0].mutation.key(), "-", "7", "all", "the caller never asks about equal ones"))
	_, _, err = split("a", all, append(known, known...))
	require.EqualError(t, err, "equivalent/a.txt:1: the mutation stands there twice")

	_, err = parseEquivalents("a.txt", "a\tb\n")
	require.EqualError(t, err, "a.txt:1: 2 fields, want 9")
	_, err = parseEquivalents("a.txt", line("a", "b", "c", "d", "x", "-", "0", "", ""))
	require.Error(t, err)
	_, err = parseEquivalents("a.txt", line("a", "b", "c", "d", "1", "-", "many", "", ""))
	require.Error(t, err)
	_, err = parseEquivalents("a.txt", line("a", "b", "c", "d", "1", "FuzzA", "0", "", ""))
	require.EqualError(t, err, `a.txt:1: "FuzzA", want - or never`)
	gone, err := parseEquivalents("a.txt", line("a/a.go", "Boundary", "boundary", "a > b -> a >= b", "1", "-", "0", "all", "x"))
	require.NoError(t, err)
	_, _, err = split("a", all, gone)
	require.ErrorContains(t, err, "equivalent/a.txt:1: there is no such mutation")
	var many strings.Builder
	for _, m := range all[:len(all)/5] {
		many.WriteString(line(m.key(), "-", "0", "all", "x"))
	}
	known, err = parseEquivalents("a.txt", many.String())
	require.NoError(t, err)
	_, _, err = split("a", all, known)
	require.ErrorContains(t, err, "are called equivalent, more than 10 %")
}

// A place that no input reaches panics when an input does.
func TestNever(t *testing.T) {
	for change, reached := range map[string]bool{
		"return a == b -> return !(a == b)": true, "n == 8 -> false": true,
		"return 0, false -> return 0, !(false)": false, "a -> false": false, "return t, err -> return t, nil": false,
	} {
		u, err := load(module(t), "a")
		require.NoError(t, err)
		all := u.find()
		k := slices.IndexFunc(all, func(m *mutation) bool { return m.change() == change })
		all[k].never = true
		b, err := u.build(t.TempDir(), all[k:k+1], u.folder)
		require.NoError(t, err)
		passed, _, out, err := b.run("1", "", time.Minute)
		require.NoError(t, err)
		require.Equal(t, !reached, passed, change)
		require.Equal(t, reached, strings.Contains(string(out), "mutation 1 is reached"), change)
	}
}

// The tests and fuzz targets run with equivalent mutations on, and a mutation that they notice is none.
func TestMillion(t *testing.T) {
	root := module(t)
	fuzz := `package a

import "testing"

func FuzzBoundary(f *testing.F) {
	f.Add(1, 5, "")
	f.Fuzz(func(t *testing.T, a, b int, text string) {
		if b > a+1 && !Boundary(a, b) {
			t.Error("boundary", a, b)
		}
		if a > b && len(text) > 5 && text[5] > 'x' && Swap(a, b) != a {
			t.Error("swap", a, b)
		}
	})
}
`
	require.NoError(t, os.WriteFile(filepath.Join(root, "a/fuzz_test.go"), []byte(fuzz), 0o644))
	for change, want := range map[string]string{
		"a < b -> a <= b": "", "n < 10 -> false": "n < 10 -> false is not equivalent: a_test.go:19: 4",
		"less(a, b) -> less(b, a)": "less(a, b) -> less(b, a) is not equivalent: fuzz_test.go:",
	} {
		u, err := load(root, "a")
		require.NoError(t, err)
		var alike []equivalent
		for _, m := range u.find() {
			if m.change() == change {
				alike = append(alike, equivalent{key: m.key(), mutation: m})
			}
		}
		list := []*mutation{alike[0].mutation}
		b, err := u.build(t.TempDir(), list, u.folder)
		require.NoError(t, err)
		x := executer{binaries: []*binary{b}, ids: functions(list), longest: 10 * time.Minute, seed: 1, ran: map[string]int{}}
		more, refuted, err := x.execute(alike)
		require.NoError(t, err)
		if want != "" {
			require.Len(t, refuted, 1)
			require.ErrorContains(t, refuted[0], want)
			require.Empty(t, more)
			continue
		}
		require.Empty(t, refuted)
		require.GreaterOrEqual(t, x.ran[alike[0].key], enough)
	}
}

// Mutations of one place are not on together.
func TestTogether(t *testing.T) {
	u, err := load(module(t), "a")
	require.NoError(t, err)
	var alike []equivalent
	for _, m := range u.find() {
		if m.function == "Boundary" {
			alike = append(alike, equivalent{key: m.key(), mutation: m})
		}
	}
	groups := together(alike)
	require.Len(t, groups, 2)
	require.Len(t, groups[0], 2, "the return and the boundary")
}

// Every entry of the folder equivalent names a mutation, and no package has too many.
func TestEquivalentFiles(t *testing.T) {
	root, err := repository()
	require.NoError(t, err)
	files, err := equivalents.ReadDir("equivalent")
	require.NoError(t, err)
	folders, err := expand(root, "all")
	require.NoError(t, err)
	read := 0
	for _, folder := range folders {
		known, err := knownEquivalents(folder)
		require.NoError(t, err)
		if known == nil {
			continue
		}
		read++
		u, err := load(root, folder)
		require.NoError(t, err)
		_, _, err = split(folder, u.find(), known)
		require.NoError(t, err)
	}
	require.Len(t, files, read, "each file is that of a package")
}

// The rows of docs/fidelity name tests and cases, which -test.run finds by their printed names.
func TestRowTests(t *testing.T) {
	tests, err := rowTests("../..", "taints", nil)
	require.NoError(t, err)
	require.Greater(t, len(tests), 70)
	for _, r := range tests {
		require.NotEmpty(t, r.row)
		_, err := regexp.Compile(r.pattern())
		require.NoError(t, err)
	}
	require.Equal(t, `^TestState$/^T-30_1\.5_of_2$/^x$`, rowTest{"T-30", "TestState/T-30 1.5 of 2/x"}.pattern())
}

// Of a sample of rows all tests stay; 0 rows are all.
func TestDrawnRows(t *testing.T) {
	tests := []rowTest{{"A", "a"}, {"B", "b"}, {"A", "c"}, {"C", "d"}}
	require.Len(t, drawn(slices.Clone(tests), 0, nil), 4)
	for seed := range int64(20) {
		got := drawn(slices.Clone(tests), 1, rand.New(rand.NewSource(seed)))
		require.Subset(t, tests, got)
		require.Len(t, got, map[string]int{"A": 2, "B": 1, "C": 1}[got[0].row])
	}
	require.ElementsMatch(t, tests, drawn(slices.Clone(tests), 9, rand.New(rand.NewSource(1))))
}

// The functions that few tests reach come first, and no function has a second turn before each has had its first.
func TestInTurn(t *testing.T) {
	f := &source{path: "a/a.go"}
	var list []*mutation
	for _, function := range []string{"All", "Rare", "All", "Rare", "Half", "Elsewhere", "All"} {
		list = append(list, &mutation{file: f, function: function})
	}
	ids := functions(list)
	id := func(name string) int { return ids[[2]string{f.path, name}] }
	orders := map[*mutation]bool{}
	for seed := range int64(20) {
		c := rowCheck{rng: rand.New(rand.NewSource(seed)), list: list, ids: ids}
		got := c.inTurn(map[int]bool{id("All"): true, id("Rare"): true, id("Half"): true}, map[int]int{id("All"): 3, id("Half"): 2, id("Rare"): 1})
		var names []string
		for _, m := range got {
			names = append(names, m.function)
		}
		require.Equal(t, []string{"Rare", "Half", "All", "Rare", "All", "All"}, names)
		orders[got[0]] = true
	}
	require.Len(t, orders, 2, "the seed draws which mutation of a function is first")
}

// A mutation that does not compile is left out, also where others make the text longer.
func TestCompilable(t *testing.T) {
	root := module(t)
	long := `package a

func Long(a, b bool) bool {
	return a ||
		b ||
		!a
}

func Bare() (ok bool) {
	ok = true
	return
}
`
	require.NoError(t, os.WriteFile(filepath.Join(root, "a/long.go"), []byte(long), 0o644))
	u, err := load(root, "a")
	require.NoError(t, err)
	all := u.find()
	list, err := u.compilable(all)
	require.NoError(t, err)
	for _, m := range all {
		alone, err := u.compilable([]*mutation{m})
		require.NoError(t, err)
		require.Equal(t, len(alone) == 1, slices.Contains(list, m), m)
		if m.function == "Bare" && m.old == "return" {
			require.Empty(t, alone)
		}
	}
}

// A row whose test cannot notice a mistake is an error in a sample of rows, whatever runs before the test; others are not.
func TestCheckRows(t *testing.T) {
	root := module(t)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "docs/fidelity"), 0o755))
	files := map[string]string{
		"a/start.go": "package a\n\nvar started = [2]int{}[One()]\n\nfunc One() int {\n\ta := 1\n\treturn a\n}\n",
		"a/rows_test.go": `package a

import "testing"

func TestBlind(*testing.T) {
	Term(true, false)
	Boundary(1, 2)
	Negation(true)
	Constant()
	Swap(1, 2)
}

func TestNothing(*testing.T) {}
`,
		"docs/fidelity/a.md": "| X1.1 | sees | a.TestBoundary |\n| X1.2 | blind | a.TestBlind |\n| X1.3 | nothing | a.TestNothing |\n",
	}
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	for seed := range int64(2) {
		r, err := settings{seed: seed, sample: 1, rows: true, most: 3}.examine(root, "a")
		require.Equal(t, 3, r.rows)
		require.ErrorContains(t, err, "row X1.2: its tests notice none of ")
		require.NotContains(t, err.Error(), "X1.1")
		require.NotContains(t, err.Error(), "X1.3")
	}
}

// Every mistake made by hand is about a row with tests, and quotes text that stands once in its file.
func TestByHand(t *testing.T) {
	list, err := rowMistakes(byHand)
	require.NoError(t, err)
	require.NotEmpty(t, list)
	tests, err := testsByRow("../..")
	require.NoError(t, err)
	for _, m := range list {
		require.NotEmpty(t, tests[m.row], m.row)
		require.NotEqual(t, m.old, m.new, m.row)
		_, err := m.changed("../..")
		require.NoError(t, err)
	}
	_, err = rowMistakes("one\ttwo")
	require.ErrorContains(t, err, "byhand.txt:1: 2 fields, want 5")
}
