package boxes

import (
	"cmp"
	"slices"

	"github.com/podberth/podberth/placement/internal/heap"
	"github.com/podberth/podberth/resources"
)

// Judge answers for one pod.
type Judge interface {
	// All returns the verdict about every row within the bounds. same is false when the rows may get different verdicts.
	All(b *Bounds) (v resources.Verdict, same bool)
	// Most returns a score that no row within the bounds exceeds.
	Most(b *Bounds) int64
	// Key returns the key of a slot at a place, or a negative number and the verdict that rejects the slot.
	Key(slot int, place int32) (key int64, reject resources.Verdict)
	// Rejects counts n nodes that get a verdict.
	Rejects(v resources.Verdict, n int32)
	// Counts reports whether a slot may be the best of its group.
	Counts(slot int) bool
}

// Search is the result of [Tree.Search]. The zero value is ready for use, and Search uses its memory again.
type Search struct {
	Count int32      // nodes that have room
	Top   heap.Entry // the best node that has room; the zero value if there is none
	open  []opening  // boxes whose nodes all have room
}

// opening is a box with a key that no key of its nodes exceeds.
type opening struct {
	most int64
	box  *box
}

// Search asks about the nodes of a group.
func (t *Tree) Search(g int32, j Judge, out *Search) {
	out.Count, out.Top = 0, heap.Entry{}
	if int(g) >= len(t.groups) {
		return
	}
	f := finder{t, j, out}
	for _, x := range t.groups[g].boxes {
		f.count(x)
	}
	f.into(0) // the boxes whose nodes have room
}

// finder is a search while it runs.
type finder struct {
	tree  *Tree
	judge Judge
	*Search
}

// count counts the nodes of a box that have room, and the verdicts of the others. It looks at single nodes where the bounds leave the verdict open.
func (f *finder) count(x *box) {
	if x.count == 0 {
		return
	}
	v, same := f.judge.All(&x.Bounds)
	switch {
	case same && v != 0:
		f.judge.Rejects(v, x.count)
	case same:
		f.Count += x.count
		f.open = append(f.open, opening{f.most(x), x})
	case x.divided:
		for _, c := range x.children {
			if c != nil {
				f.count(c)
			}
		}
	default:
		for _, i := range x.slots {
			key, reject := f.judge.Key(int(i), f.tree.places[i])
			if !heap.Fits(key) {
				f.judge.Rejects(reject, 1)
				continue
			}
			f.Count++
			f.offer(key, i)
		}
	}
}

// offer takes a node that has room as the best, unless a better node is known.
func (f *finder) offer(key int64, i int32) {
	if key > f.Top.Key && f.judge.Counts(int(i)) {
		f.Top = heap.Entry{Key: key, Slot: i}
	}
}

// most returns a key that no key of the nodes of a box exceeds.
func (f *finder) most(x *box) int64 { return heap.Key(f.judge.Most(&x.Bounds), x.first) }

// into looks into the openings from a position on, the most promising first, until no box can have a better node than the best. It
// forgets these openings.
func (f *finder) into(from int) {
	slices.SortFunc(f.open[from:], func(a, b opening) int { return cmp.Compare(b.most, a.most) })
	for k, end := from, len(f.open); k < end && f.open[k].most > f.Top.Key; k++ {
		x := f.open[k].box
		for _, c := range x.children {
			if c == nil || c.count == 0 {
				continue
			}
			if most := f.most(c); most > f.Top.Key {
				f.open = append(f.open, opening{most, c})
			}
		}
		f.into(end)
		score := heap.Score(f.open[k].most)
		for _, i := range x.slots {
			place := f.tree.places[i]
			if heap.Key(score, place) <= f.Top.Key {
				break // so do all slots behind
			}
			key, _ := f.judge.Key(int(i), place)
			f.offer(key, i)
		}
	}
	f.open = f.open[:from]
}
