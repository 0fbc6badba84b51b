package podgroup

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// forest makes groups with any parents: missing ones, cycles, equal names.
func forest(b *testkit.Bytes) *world {
	w := &world{}
	names := []string{"", "a", "b", "c", "d", "e", "f", "x"}
	parent := func() string {
		if len(w.composites) == 0 || b.OneIn(12) {
			return names[b.Below(8)] // often missing
		}
		return w.composites[b.Below(len(w.composites))].Name
	}
	for range b.Below(8) {
		up := ""
		if b.OneIn(2) {
			up = parent()
		}
		w.composite(names[1+b.Below(7)], up, int32(b.Below(4)))
	}
	for range 1 + b.Below(5) {
		up := ""
		if !b.OneIn(4) {
			up = parent()
		}
		w.group(names[1+b.Below(7)], up, int32(b.Below(4)))
	}
	w.composites = slices.DeleteFunc(w.composites, func(c *Composite) bool { return w.Composite(c.Namespace, c.Name) != c })
	w.groups = slices.DeleteFunc(w.groups, func(g *Group) bool { return w.Group(g.Namespace, g.Name) != g })
	return w
}

// checkTree holds the laws of trees: each group below the root is there once, parents stand before children, and the root of each leaf is
// the root of the tree. It reports whether there was a tree.
func checkTree(t *testing.T, data []byte) bool {
	w := forest(testkit.NewBytes(data))
	tree, err := TreeOf(w, "default", w.groups[0].Name, composites)
	root, composite, rootErr := RootOf(w, "default", w.groups[0].Name, composites)
	require.Equal(t, err, rootErr)
	if err != nil {
		return false
	}
	require.Equal(t, root, tree.Root().Name)
	require.Equal(t, composite, tree.Root().Composite != nil)
	seen := map[string]bool{}
	for _, n := range tree.Nodes() {
		require.False(t, seen[n.String()], n.String())
		seen[n.String()] = true
		if n.Up != nil {
			require.True(t, seen[n.Up.String()])
			require.Equal(t, n.Spec.Parent, n.Up.Name)
		}
	}
	for _, g := range w.groups {
		name, c, err := RootOf(w, "default", g.Name, composites)
		mine := err == nil && name == root && c == composite
		require.Equal(t, mine, seen[fmt.Sprintf("podgroup/default/%s", g.Name)], g.Name)
		if mine {
			require.NotNil(t, tree.Home(g.Name))
		}
	}
	require.Len(t, tree.Leaves(), len(tree.Nodes())-count(tree))
	return true
}

func count(t *Tree) (composites int) {
	for _, n := range t.Nodes() {
		if n.Composite != nil {
			composites++
		}
	}
	return composites
}

func FuzzTree(f *testing.F) {
	for seed := range 20 {
		f.Add(testkit.RandomBytes(uint64(seed), 60))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkTree(t, data) })
}

// Some random inputs have no tree, because a parent is missing; more than half of them have one.
func TestFuzzTreeReaches(t *testing.T) {
	reached := 0
	for seed := range 1000 {
		if checkTree(t, testkit.RandomBytes(uint64(seed), 60)) {
			reached++
		}
	}
	require.Greater(t, reached, 500)
}
