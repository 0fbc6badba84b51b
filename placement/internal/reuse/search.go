package reuse

import (
	"cmp"
	"slices"

	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/score"
)

// search does for one pod what a look at the rows of every node does, by boxes: how many nodes of each group have room, how the
// others are rejected, and which node is best.
type search struct {
	tree   *tree
	asker  *asker
	filter RowsFilter
	except *exceptions
	group  *group
	open   []opening // boxes whose nodes all have room
	failed bool      // a score is out of range, or the predicate failed
}

// opening is a box with a key that no key of its nodes exceeds.
type opening struct {
	most int64
	box  *box
}

// searchable reports whether the plugins of group Rows answer about boxes.
func (a *asker) searchable() (RowsFilter, bool) {
	f, ok := a.filter.(RowsFilter)
	if !ok || a.reads {
		return nil, false
	}
	left := int64((maxOwn - 1) / score.MaxScore) // for weights
	for k := range a.scorers {
		s := &a.scorers[k]
		if s.rows == nil || s.weight < 0 || s.weight > left {
			return nil, false
		}
		left -= s.weight
	}
	return f, true
}

// scansForTree is how many looks at every node cost as much as making a tree.
const scansForTree = 4

// treeOf returns the tree of the shape's layout, up to date; nil when a look at every node serves the pod. A layout that is seldom used
// has no tree.
func (s *shape) treeOf() *tree {
	l, e := s.layout, s.engine
	if l.tree != nil {
		if l.tree.follow(e, l) {
			return l.tree
		}
		l.tree, l.scans = nil, 0
	}
	if l.scans++; l.scans > scansForTree {
		l.tree = newTree(e, l)
	}
	return l.tree
}

// search writes into each group how many nodes have room and which node is best. It reports false when a score is out of range
// or the predicate fails.
func (s *shape) search(a *asker, filter RowsFilter, t *tree) bool {
	l := s.layout
	f := search{tree: t, asker: a, filter: filter, except: &s.exceptions, open: s.engine.room.open[:0]}
	for g := range l.groups {
		f.group = &l.groups[g]
		if g >= len(t.groups) || s.verdict(f.group).Verdict != 0 {
			continue
		}
		for _, x := range t.groups[g].boxes {
			f.count(x)
		}
		f.into(0) // the boxes whose nodes have room
	}
	s.engine.room.open = f.open[:0]
	s.searchExceptions(&f)
	return !f.failed
}

// searchExceptions takes the exceptions out of the counts of their groups.
func (s *shape) searchExceptions(f *search) {
	for g := range s.exceptions.groups {
		x := &s.exceptions.groups[g]
		base := &s.layout.groups[x.base]
		if s.verdict(base).Verdict != 0 {
			continue
		}
		allowed := x.size > 0
		if allowed {
			allowed, _ = s.allows(int(x.heap[0].slot))
		}
		for _, m := range x.heap {
			key := int64(1) // of a node that has room
			if allowed {
				key, _ = f.key(m.slot)
			} else { // no score is needed
				i, a := int(m.slot), f.asker
				if v := a.check(i, a.log.Allocatable(i), a.log.Requested(i)); v != 0 {
					key = -1
					f.failed = f.failed || a.fails(i, v)
				}
			}
			if !fits(key) {
				continue
			}
			base.count--
			if x.count++; key > x.top.key {
				x.top = heapEntry{key, m.slot}
			}
		}
	}
}

// key judges a slot as the asker does.
func (f *search) key(i int32) (key int64, reject resources.Verdict) {
	key, reject, ok := f.asker.key(int(i), f.tree.rank[i])
	f.failed = f.failed || !ok
	return key, reject
}

// count counts the nodes of a box that have room, and the verdicts of the others. It looks at single nodes where the bounds leave
// the verdict open.
func (f *search) count(x *box) {
	if x.count == 0 {
		return
	}
	v, same := f.filter.CheckRows(x.allocatable, x.requested)
	switch {
	case same && v != 0:
		f.failed = f.failed || f.asker.fails(int(f.group.member), v)
		f.group.tally(v, x.count)
	case same:
		f.group.count += x.count
		f.open = append(f.open, opening{f.most(x), x})
	case x.divided:
		for _, c := range x.children {
			if c != nil {
				f.count(c)
			}
		}
	default:
		for _, i := range x.slots {
			key, reject := f.key(i)
			if !fits(key) {
				f.group.tally(reject, 1)
				continue
			}
			f.group.count++
			f.offer(key, i)
		}
	}
}

// offer takes a node that has room as the best of its group, unless a better node is known or the node is an exception.
func (f *search) offer(key int64, i int32) {
	if key > f.group.top.key && !(f.except.some && f.except.group[i] >= 0) {
		f.group.top = heapEntry{key, i}
	}
}

// most returns a key that no key of the nodes of a box exceeds.
func (f *search) most(x *box) int64 {
	var own int64
	for k := range f.asker.scorers {
		s := &f.asker.scorers[k]
		own += s.rows.MaxRawRow(x.allocatable, x.requested, x.cpu, x.memory) * s.weight
	}
	return keyOf(own, x.first)
}

// into looks into the openings from a position on, the most promising first, until no box can have a better node than the best. It
// forgets these openings.
func (f *search) into(from int) {
	slices.SortFunc(f.open[from:], func(a, b opening) int { return cmp.Compare(b.most, a.most) })
	for k, end := from, len(f.open); k < end && f.open[k].most > f.group.top.key; k++ {
		x := f.open[k].box
		for _, c := range x.children {
			if c == nil || c.count == 0 {
				continue
			}
			if most := f.most(c); most > f.group.top.key {
				f.open = append(f.open, opening{most, c})
			}
		}
		f.into(end)
		own := f.open[k].most >> 32
		for _, i := range x.slots {
			rank := f.tree.rank[i]
			if keyOf(own, rank) <= f.group.top.key {
				break // so do all slots behind
			}
			key, _ := f.key(i)
			f.offer(key, i)
		}
	}
	f.open = f.open[:from]
}
