package gang

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/podberth/podberth/podgroup"
)

// tree places a node of the tree in a domain and then what is left, and reports success. rest says what is left.
func (f *finder) tree(n *podgroup.Node, d podgroup.Placement, rest string, then func() bool) bool {
	if n.Group == nil {
		return f.children(n, d, 0, 0, rest, then)
	}
	var kinds []int
	for k := range f.kinds {
		if f.kinds[k].leaf == n {
			kinds = append(kinds, k)
		}
	}
	need := max(0, n.Needs()-len(f.Scheduled[n]))
	if need == 0 {
		if then() {
			return true
		}
		if len(f.stack) > 0 || f.cut {
			return false
		}
		need = 1 // somebody must be placed
	}
	l := &leaf{slots: d.Slots, kinds: f.sorted(kinds), rest: rest + "|" + n.Name + "/" + d.Name, then: then}
	l.after = make([]int, len(l.kinds)+1)
	for at := len(l.kinds) - 1; at >= 0; at-- {
		l.after[at] = l.after[at+1] + len(f.kinds[l.kinds[at]].members)
	}
	return l.after[0] >= need && f.fill(l, 0, need, 0, 0, nil)
}

// children places enough children of a composite group, from one on.
func (f *finder) children(n *podgroup.Node, d podgroup.Placement, at, have int, rest string, then func() bool) bool {
	if have >= n.Needs() {
		if then() {
			return true
		}
		if len(f.stack) > 0 {
			return false
		}
	}
	if at == len(n.Children) || have+len(n.Children)-at < n.Needs() || f.cut {
		return false
	}
	child := n.Children[at]
	left := fmt.Sprintf("%s|%s/%s:%d:%d", rest, n.Name, d.Name, at, have)
	for _, in := range f.tightest(child, d.Slots) {
		if f.tree(child, in, left, func() bool { return f.children(n, d, at+1, have+1, rest, then) }) {
			return true
		}
		if f.cut {
			return false
		}
	}
	return f.children(n, d, at+1, have, rest, then)
}

// tightest returns the domains of a child that take enough members now, those with the least room first.
func (f *finder) tightest(n *podgroup.Node, within []int) []podgroup.Placement {
	all := f.domains(n, within)
	if len(all) < 2 {
		return all
	}
	kinds, need, rooms := f.below(n), f.Need(n), map[string]int{}
	for _, d := range all {
		for _, i := range d.Slots {
			rooms[d.Name] += f.model.most(i, kinds)
		}
	}
	all = slices.DeleteFunc(all, func(d podgroup.Placement) bool { return rooms[d.Name] < need })
	slices.SortStableFunc(all, func(a, b podgroup.Placement) int { return cmp.Compare(rooms[a.Name], rooms[b.Name]) })
	return all
}
