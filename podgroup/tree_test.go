package podgroup

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

var composites = Gates{Topology: true, Composites: true}

// names lists the nodes of a tree, each behind as many dots as it has levels above.
func names(t *Tree) (out []string) {
	for _, n := range t.Nodes() {
		out = append(out, fmt.Sprintf("%.*s%s", n.Depth-1, ".....", n.Name))
	}
	return out
}

func TestTree(t *testing.T) {
	type test struct {
		name, why string
		make      func(w *world)
		gates     Gates
		want      []string
		err       error
		text      string
	}
	testkit.Run(t, []test{
		{"a group", "a group without parent is its own root", func(w *world) { w.group("x", "", 2) }, composites, []string{"x"}, nil, ""},
		{"E9", "the group has no object", func(*world) {}, composites, nil, ErrNoObject, "pod group default/x: no object of the group"},
		{"E42", "a parent has no object", func(w *world) { w.group("x", "job", 1) }, composites, nil, ErrNoObject, "composite pod group default/job: no object of the group"},
		{"E44", "children in the order of creation, groups and composites mixed", func(w *world) {
			w.composite("job", "", 2)
			w.group("y", "job", 1)
			w.composite("c", "job", 1)
			w.group("x", "job", 1)
			w.group("z", "c", 1)
			w.group("other", "", 1)
		}, composites, []string{"job", ".y", ".c", "..z", ".x"}, nil, ""},
		{"gate off", "without the gate a parent does not count", func(w *world) {
			w.composite("job", "", 2)
			w.group("x", "job", 1)
		}, Gates{}, []string{"x"}, nil, ""},
		{"E89", "two composites that are each other's parent", func(w *world) {
			w.composite("p", "q", 1)
			w.composite("q", "p", 1)
			w.group("x", "p", 1)
		}, composites, nil, ErrCycle, "composite pod group default/p: the parents of the group are a cycle"},
	}, func(t *testing.T, c test) {
		w := &world{}
		c.make(w)
		tree, err := TreeOf(w, "default", "x", c.gates)
		if c.err != nil {
			require.ErrorIs(t, err, c.err)
			require.EqualError(t, err, c.text)
			return
		}
		require.NoError(t, err)
		require.Equal(t, c.want, names(tree))
		for _, n := range tree.Nodes() {
			if n.Up != nil {
				require.Contains(t, n.Up.Children, n)
			}
		}
	})
}

// Equal times of creation are ordered by name.
func TestChildrenByName(t *testing.T) {
	w := &world{}
	w.composite("job", "", 2)
	for _, name := range []string{"b", "x", "a"} {
		g := w.group(name, "job", 1)
		g.CreationTimestamp = w.composites[0].CreationTimestamp
	}
	tree, err := TreeOf(w, "default", "x", composites)
	require.NoError(t, err)
	require.Equal(t, []string{"job", ".a", ".b", ".x"}, names(tree))
}

func TestHome(t *testing.T) {
	w := &world{}
	w.composite("job", "", 1)
	w.group("job", "job", 1)
	w.group("x", "job", 1)
	tree, err := TreeOf(w, "default", "x", composites)
	require.NoError(t, err)
	require.Equal(t, "podgroup/default/x", tree.Home("x").String())
	require.Equal(t, "compositepodgroup/default/job", tree.Home("job").String(), "E53: the composite of that name gets the pods")
	require.Nil(t, tree.Home("none"))
	require.Len(t, tree.Leaves(), 2)
}

func TestGateText(t *testing.T) {
	deep := func(levels int) func(w *world) {
		return func(w *world) {
			parent := ""
			for k := range levels - 1 {
				name := fmt.Sprintf("r%d", k)
				w.composite(name, parent, 1)
				parent = name
			}
			w.group("x", parent, 1)
		}
	}
	job := func(w *world) {
		w.composite("job", "", 2)
		w.group("x", "job", 1)
		w.group("y", "job", 2)
	}
	type test struct {
		name, why string
		make      func(w *world)
		known     map[string]int
		gates     Gates
		want      string
	}
	testkit.Run(t, []test{
		{"E8", "two of three", func(w *world) { w.group("x", "", 3) }, map[string]int{"x": 2}, Gates{}, TextQuorumGate},
		{"E8 complete", "three of three", func(w *world) { w.group("x", "", 3) }, map[string]int{"x": 3}, Gates{}, ""},
		{"basic", "a basic group never waits", func(w *world) { w.group("x", "", 0) }, nil, Gates{}, ""},
		{"basic with composites", "a basic group needs one known pod", func(w *world) { w.group("x", "", 0) }, nil, composites, TextQuorumGate},
		{"E43", "one of two children has enough", job, map[string]int{"x": 1, "y": 1}, composites, `waiting for composite pod group "job" tree to meet quorum`},
		{"E43 complete", "both children have enough", job, map[string]int{"x": 1, "y": 2}, composites, ""},
		{"E93 five levels", "five levels work", deep(5), map[string]int{"x": 1}, composites, ""},
		{"E93 six levels", "a deeper tree waits for good", deep(6), map[string]int{"x": 1}, composites, "failed to build hierarchy snapshot: exceeded maximum hierarchy depth at podgroup/default/x"},
	}, func(t *testing.T, c test) {
		w := &world{}
		c.make(w)
		tree, err := TreeOf(w, "default", "x", c.gates)
		require.NoError(t, err)
		require.Equal(t, c.want, tree.GateText(func(g *Group) int { return c.known[g.Name] }, c.gates))
	})
}
