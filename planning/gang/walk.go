package gang

import (
	"slices"

	"github.com/podberth/podberth/podgroup"
)

// walk places members in every order, for filters whose rejections may end. seen has what was reached.
func (f *finder) walk(d podgroup.Placement, seen map[string]bool) bool {
	if f.enough() && f.whole(f.Tree.Root()) {
		return true
	}
	kinds := make([]int, len(f.kinds))
	for k := range kinds {
		kinds[k] = k
	}
	for _, k := range f.sorted(kinds) {
		at := slices.IndexFunc(f.kinds[k].members, func(x int) bool { _, placed := f.on[x]; return !placed })
		if at < 0 {
			continue
		}
		member, fits, within := f.kinds[k].members[at], f.fits(k), f.within(f.kinds[k].leaf, d.Slots)
		for _, i := range f.nearest(k, within) {
			if !fits(i) {
				continue
			}
			f.on[member] = i
			state := f.state("")
			delete(f.on, member)
			if seen[state] {
				continue
			}
			seen[state] = true
			if f.spent() {
				return false
			}
			f.put(member, i)
			if f.walk(d, seen) {
				return true
			}
			f.take()
			if f.cut {
				return false
			}
		}
	}
	return false
}

// within returns those of the slots that the constraints between a group and the root leave, with the members that run or are placed.
func (f *finder) within(leaf *podgroup.Node, slots []int) []int {
	for n := leaf; n.Up != nil; n = n.Up {
		if key := f.key(n); key != "" {
			at, fixed := f.home(n)
			slots = slices.DeleteFunc(slices.Clone(slots), func(i int) bool {
				v, ok := f.s.Node(i).Labels[key]
				return !ok || fixed && v != f.s.Node(at).Labels[key]
			})
		}
	}
	return slots
}

// home returns a slot where a member below a group is.
func (f *finder) home(n *podgroup.Node) (slot int, ok bool) {
	for _, leaf := range n.Leaves() {
		for _, slot := range f.q.Snapshot.Members(leaf.Namespace, leaf.Name) {
			return slot, slot >= 0
		}
		for k, i := range f.on {
			if f.Leaf[k] == leaf {
				return i, true
			}
		}
	}
	return 0, false
}
