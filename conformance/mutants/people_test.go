package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

const peopleCode = `package a

import "sync"

type Pod struct {
	Requests, Limits []int
	one, two         int
	none             struct{}
}

func Sibling(p *Pod, old, new int) (n int) {
	p.one = 1
	n = len(p.Requests)
	n += p.one
	n += old
	println(new, &p.one)
	return
}

func (p *Pod) Clone() *Pod { return p }

func Share(p *Pod) (q *Pod) {
	q = p.Clone()
	return
}

func Component(a, b int) (p Pod) {
	p = Pod{one: a, two: b, none: struct{}{}}
	return
}

func Early(p *Pod) {
	p.one = 1
	n := 1
	p.two = n
	println()
}

type Guarded struct {
	mu sync.RWMutex
	n  int
}

func (g *Guarded) Set(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n = n
}

func (g *Guarded) Get() (n int) {
	g.mu.RLock()
	n = g.n
	g.mu.RUnlock()
	return
}

func (g *Guarded) Hold() { g.mu.Lock() }

func Arm(a bool, s string) (n int) {
	switch {
	case a:
		n = 1
	}
	switch s {
	case "x":
		n = 2
	}
	return
}
`

const peopleTests = `package a

import "testing"

func TestAll(t *testing.T) {
	p := &Pod{Requests: []int{1}, two: 2}
	if n := Sibling(p, 4, 7); n != 6 {
		t.Error(n)
	}
	if Component(1, 2) != Component(1, 2) && p.one != 1 {
		t.Error("component")
	}
	if Arm(true, "x") != 2 || Arm(true, "") != 1 {
		t.Error("arm")
	}
}
`

// Each mistake that people make is found where it can be made, compiles, and is another program.
func TestPeople(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/m\n\ngo 1.26\n", "a/a.go": peopleCode, "a/a_test.go": peopleTests} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	u, err := load(root, "a")
	require.NoError(t, err)
	people := []string{sibling, share, component, early, arm, lock}
	var list []*mutation
	got := map[string][]string{}
	for _, m := range u.find() {
		if slices.Contains(people, m.operator) {
			list = append(list, m)
			got[m.operator] = append(got[m.operator], m.change())
		}
	}
	require.Equal(t, map[string][]string{
		sibling:   {"p.Requests -> p.Limits", "p.one -> p.two", "old -> new", "new -> old"},
		share:     {"p.Clone() -> p"},
		component: {"a -> *new(int)", "b -> *new(int)"},
		early:     {"p.two = n -> return", "println() -> return", "g.n = n -> return"},
		arm:       {"case a -> ", `case "x" -> `},
		lock:      {"g.mu.Lock() -> ", "g.mu.RLock() -> "},
	}, got)
	compiles, err := u.compilable(list)
	require.NoError(t, err)
	require.Len(t, compiles, len(list))
	require.Len(t, list[slices.IndexFunc(list, func(m *mutation) bool { return m.operator == lock })].edits, 2, "without the unlock too")
	for _, c := range []struct {
		flag        string
		arms, locks bool
	}{{"", true, false}, {"arm|lock", true, false}, {"lock", false, true}} {
		s := settings{operators: regexp.MustCompile(c.flag)}
		require.Equal(t, []bool{c.arms, c.locks}, []bool{s.tries(arm), s.tries(lock)}, c.flag)
	}
	for n := range list { // also when the other operators have no mutation
		require.Len(t, sample(slices.Clone(list), n+1, 7, "a"), n+1)
	}
}
