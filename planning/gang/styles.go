package gang

import (
	"cmp"
	"slices"
)

// share is the part of the largest free amount that a kind asks for.
func (f *finder) share(k int) float64 {
	top := 0.0
	for c, n := range f.kinds[k].needs {
		if f.plan.column >= 0 && f.plan.column != c {
			continue
		}
		largest := int64(1)
		for _, i := range f.slots {
			largest = max(largest, f.room(i)[c])
		}
		top = max(top, float64(n)/float64(largest))
	}
	return top
}

// sorted returns kinds in the order of the style: the largest, or the pickiest, first.
func (f *finder) sorted(kinds []int) []int {
	if len(kinds) < 2 {
		return kinds
	}
	sizes, open := map[int]float64{}, map[int]int{}
	for _, k := range kinds {
		sizes[k] = f.share(k)
		for _, is := range f.kinds[k].open {
			if is && f.plan.picky {
				open[k]++
			}
		}
	}
	out := slices.Clone(kinds)
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Or(cmp.Compare(open[a], open[b]), cmp.Compare(sizes[b], sizes[a])) })
	return out
}

// nearest returns the slots for a kind in the order of the style: the fullest that has room first, or the emptiest.
func (f *finder) nearest(k int, slots []int) []int {
	type candidate struct {
		slot, others int
		left         float64
	}
	x := &f.kinds[k]
	list := make([]candidate, 0, len(slots))
	for _, i := range slots {
		if !x.open[i] {
			continue
		}
		c := candidate{slot: i}
		for at, free := range f.room(i) {
			if (f.plan.column < 0 || f.plan.column == at) && x.needs[at] > 0 {
				c.left = max(c.left, float64(free)/float64(x.needs[at]))
			}
		}
		if f.plan.picky {
			for o := range f.kinds {
				if f.kinds[o].open[i] {
					c.others++
				}
			}
		}
		list = append(list, c)
	}
	sign := 1
	if f.plan.loose {
		sign = -1
	}
	slices.SortStableFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.others, b.others), sign*cmp.Compare(a.left, b.left))
	})
	out := make([]int, len(list))
	for at, c := range list {
		out[at] = c.slot
	}
	return out
}
