package gang

import (
	"maps"
	"slices"

	"github.com/podberth/podberth/planning/gang/proof"
	"github.com/podberth/podberth/podgroup"
)

// whole reports whether every group with placed members has enough, up to the root.
func (f *finder) whole(n *podgroup.Node) bool {
	if f.has(n) < n.Needs() {
		return false
	}
	for _, child := range n.Children {
		if f.count(child) > 0 && !f.whole(child) {
			return false
		}
	}
	return true
}

func (f *finder) count(n *podgroup.Node) (sum int) {
	for _, leaf := range n.Leaves() {
		for k := range f.on {
			if f.Leaf[k] == leaf {
				sum++
			}
		}
	}
	return sum
}

func (f *finder) has(n *podgroup.Node) int {
	if n.Group != nil {
		return len(f.Scheduled[n]) + f.count(n)
	}
	sum := 0
	for _, child := range n.Children {
		if f.has(child) >= child.Needs() {
			sum++
		}
	}
	return sum
}

// others are the members without node of groups that have enough.
func (f *finder) others() map[int]bool {
	out := map[int]bool{}
	for k := range f.Members {
		enough := true
		for n := f.Leaf[k]; n != nil; n = n.Up {
			enough = enough && f.has(n) >= n.Needs()
		}
		if _, placed := f.on[k]; !placed && enough {
			out[k] = true
		}
	}
	return out
}

// finish adds members that are not needed and fit, and returns the placement.
func (f *finder) finish(d podgroup.Placement) []proof.Place {
	for _, k := range slices.Sorted(maps.Keys(f.others())) {
		fits := f.fits(f.of[k])
		for _, i := range f.nearest(f.of[k], f.within(f.Leaf[k], d.Slots)) {
			if fits(i) {
				f.put(k, i)
				break
			}
		}
	}
	out := f.places()
	f.reset()
	return out
}
