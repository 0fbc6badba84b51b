package boxes

import (
	"cmp"
	"fmt"
	"slices"
)

// Valid returns an error when a box does not hold what it should. groups has the group of each slot, or a negative number.
func (t *Tree) Valid(groups []int32) error {
	c := &checker{tree: t, groups: groups}
	for g := range t.groups {
		for offer, x := range t.groups[g].index {
			c.box(x, nil, func(i int32, row *Bounds) {
				c.slots++
				c.want(groups[i] == int32(g), "slot %d of group %d is in a box of group %d", i, groups[i], g)
				c.want(offer == string(appendOffer(nil, row)), "slot %d is in a box of another offer", i)
			})
		}
	}
	for i, g := range groups {
		if g >= 0 {
			c.slots--
		}
		c.want((g >= 0) == (t.leaf[i] != nil), "slot %d of group %d is in a box: %t", i, g, t.leaf[i] != nil)
	}
	c.want(c.slots == 0, "there are %d slots too many in boxes", c.slots)
	return c.err
}

// checker keeps the first fault that it finds.
type checker struct {
	tree   *Tree
	groups []int32
	slots  int
	stale  int // boxes whose bounds may be too wide
	err    error
}

func (c *checker) want(ok bool, format string, args ...any) {
	if !ok && c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// box checks a box and its children, and yields their slots.
func (c *checker) box(b, parent *box, yield func(i int32, row *Bounds)) {
	c.want(b.parent == parent, "a box of level %d has another parent", b.level)
	var count int32
	var rows, tight Bounds // of all rows, and of the children or rows; the bounds of a child may be wider than those of the box
	inner := func(i int32, row *Bounds) {
		rows.widen(count == 0, row)
		count++
		yield(i, row)
	}
	if b.divided {
		c.want(len(b.slots) == 0, "a divided box has slots")
		for at, x := range b.children {
			if x == nil {
				continue
			}
			c.want(x.level == b.level+1, "a box of level %d has a child of level %d", b.level, x.level)
			c.box(x, b, func(i int32, row *Bounds) {
				c.want(row.childAt(b.level) == at, "slot %d is in child %d of level %d", i, at, b.level)
				inner(i, row)
			})
			if x.count > 0 {
				tight.widen(tight.Allocatable[0] == nil, &x.Bounds)
			}
		}
	} else {
		c.want(len(b.slots) <= crowded || b.level == levels, "%d slots in a box of level %d", len(b.slots), b.level)
		c.want(slices.IsSortedFunc(b.slots, func(i, k int32) int { return cmp.Compare(c.tree.places[i], c.tree.places[k]) }), "slots %v are not in order", b.slots)
		for _, i := range b.slots {
			c.want(c.tree.leaf[i] == b, "slot %d is in another box", i)
			row := c.tree.rowOf(i)
			tight.widen(tight.Allocatable[0] == nil, &row)
			inner(i, &row)
		}
	}
	c.want(count == b.count, "a box of %d slots counts %d", count, b.count)
	if count == 0 {
		return
	}
	c.want(b.first <= rows.first, "a box begins at place %d, a slot is at %d", b.first, rows.first)
	c.want(b.stale <= count/2+8, "the bounds of a box are not made again after %d changes", b.stale)
	if b.stale > 0 {
		c.stale++
	}
	c.want(b.holds(&rows), "bounds do not hold all rows")
	c.want(b.stale > 0 || tight.holds(&b.Bounds), "bounds that nothing has left since they were made are too wide")
}

// holds reports whether other bounds are within the bounds.
func (b *Bounds) holds(o *Bounds) bool {
	for k, less := range []func(x, y int64) bool{func(x, y int64) bool { return x <= y }, func(x, y int64) bool { return x >= y }} {
		if !less(b.CPUMilli[k], o.CPUMilli[k]) || !less(b.MemoryBytes[k], o.MemoryBytes[k]) {
			return false
		}
		for c := range max(len(b.Allocatable[k]), len(b.Requested[k]), len(o.Allocatable[k]), len(o.Requested[k])) {
			if !less(b.Allocatable[k].At(c), o.Allocatable[k].At(c)) || !less(b.Requested[k].At(c), o.Requested[k].At(c)) {
				return false
			}
		}
	}
	return true
}
