package reuse

import (
	"github.com/podberth/podberth/placement/internal/boxes"
	"github.com/podberth/podberth/placement/internal/heap"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/score"
)

// boxJudge answers about boxes for one pod. It is a boxes.Judge.
type boxJudge struct {
	*rowPlugins
	filter hooks.RowsFilter
	except *exceptions
	group  *group
	failed bool // a score is out of range, or the predicate failed
}

// searchable reports whether the plugins with KeepByNodeAndPods answer about boxes.
func (a *rowPlugins) searchable() (hooks.RowsFilter, bool) {
	f, ok := a.filter.(hooks.RowsFilter)
	if !ok || a.reads {
		return nil, false
	}
	left := int64((maxRowScore - 1) / score.MaxScore) // for weights
	for k := range a.scorers {
		s := &a.scorers[k]
		if s.rows == nil || s.weight < 0 || s.weight > left {
			return nil, false
		}
		left -= s.weight
	}
	return f, true
}

// treeOf returns the tree of the kind's layout, up to date; nil when a scan of every node serves the pod. A layout that is seldom used has no tree.
func (s *podKind) treeOf() *tree {
	l, e := s.layout, s.engine
	if l.tree != nil {
		if l.tree.follow(e, l) {
			return l.tree
		}
		l.tree, l.scans = nil, 0
	}
	if l.scans++; l.scans > 4 { // which cost as much as making a tree
		l.tree = &tree{Tree: boxes.New(e.log, e.ranks(), e.scan, l.of)}
		l.tree.cursor = e.present
	}
	return l.tree
}

// search is scan with boxes.
func (s *podKind) search(filter hooks.RowsFilter, t *tree) bool {
	l, found := s.layout, &s.engine.buffers.found
	j := &boxJudge{rowPlugins: &s.row, filter: filter, except: &s.exceptions}
	for g := range l.list {
		if j.group = &l.list[g]; s.verdict(j.group).Verdict != 0 {
			continue
		}
		t.Search(int32(g), j, found)
		j.group.count, j.group.top = found.Count, found.Top
	}
	s.searchExceptions(j)
	return !j.failed
}

// searchExceptions takes the exceptions out of the counts of their groups.
func (s *podKind) searchExceptions(j *boxJudge) {
	for g := range s.exceptions.list {
		x := &s.exceptions.list[g]
		if s.verdict(x).Verdict != 0 {
			continue
		}
		allowed := x.size > 0
		if allowed {
			allowed, _ = s.allows(int(x.heap[0].Slot))
		}
		for _, m := range x.heap {
			i, key := int(m.Slot), int64(1) // of a node that has room
			if allowed {
				key, _ = j.Key(i, s.engine.ranked[i])
			} else if v := j.check(i, j.log.Allocatable(i), j.log.Requested(i)); v != 0 { // no score is needed
				key, j.failed = -1, j.failed || j.fails(i, v)
			}
			if heap.Fits(key) {
				s.layout.list[x.base].count--
				x.offer(key, m.Slot)
			}
		}
	}
}

// Key judges a slot as the rowPlugins do.
func (j *boxJudge) Key(i int, rank int32) (key int64, reject resources.Verdict) {
	key, reject, ok := j.key(i, rank)
	j.failed = j.failed || !ok
	return key, reject
}

// All returns the verdict that all rows of a box get.
func (j *boxJudge) All(b *boxes.Bounds) (resources.Verdict, bool) {
	v, same := j.filter.CheckRows(b.Allocatable, b.Requested)
	if same && v != 0 {
		j.failed = j.failed || j.fails(int(j.group.member), v)
	}
	return v, same
}

// Most returns a score that no row of a box exceeds.
func (j *boxJudge) Most(b *boxes.Bounds) int64 {
	var own int64
	for k := range j.scorers {
		s := &j.scorers[k]
		own += s.rows.MaxRawRow(b.Allocatable, b.Requested, b.CPUMilli, b.MemoryBytes) * s.weight
	}
	return own
}

// Rejects counts nodes that a verdict rejects.
func (j *boxJudge) Rejects(v resources.Verdict, n int32) { j.group.tally(v, n) }

// Counts reports whether a slot is no exception.
func (j *boxJudge) Counts(i int) bool { return !j.except.has(int32(i)) }

// tree is the boxes of a layout. They follow the log.
type tree struct {
	*boxes.Tree
	cursor    cursor
	regrouped []int32 // slots that have another group
}

// follow brings the boxes to the version of the cluster. It reports false when the log does not reach back that far, or when so much
// has changed that a scan of every node takes less time.
func (t *tree) follow(e *Engine, l *layout) bool {
	n := e.catchUp(&t.cursor)
	if n.reordered() {
		return false
	}
	for _, i := range t.regrouped {
		t.Update(int(i), l.of[i])
	}
	t.regrouped = t.regrouped[:0]
	events, known := n.events()
	if !known || 4*len(events) > len(l.of) {
		return false
	}
	for k := range events {
		if slot := events[k].Node; slot >= 0 {
			t.Update(int(slot), l.of[slot])
		}
	}
	return true
}
