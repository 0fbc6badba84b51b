package reuse

import (
	"math/bits"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/placement/internal/heap"
)

// decide answers a question about the kind's pods. It reports false when the caller must ask node by node: a score is out of range, the
// reasons of a verdict differ from node to node, or Without leaves no node. The decision is the same either way.
func (s *podKind) decide(q *Question) (Answer, bool) {
	if !s.divide() || !s.heaps && !s.prepareRows(q.Pod) || !s.setApart(q) {
		return Answer{}, false
	}
	if q.inOrder() || !s.heaps && !s.plain(q) {
		if out, ok := s.firstFeasible(q); !ok || out.Slot >= 0 || q.Slots != nil {
			return out, ok
		}
	}
	if !s.heaps && !s.scan() {
		return Answer{}, false
	}
	return s.choose(q)
}

// choose chooses among the groups in place of the nodes: O(groups), after a scan of the rows for a kind without heaps.
func (s *podKind) choose(q *Question) (Answer, bool) {
	e := s.engine
	without := s.apart.leftOut(q)
	groups := s.candidatesApart(s.gather(e.buffers.groups[:0], without))
	feasible := e.buffers.feasible[:0]
	out := Answer{Slot: -1}
	for k := range groups {
		c := &groups[k]
		if !c.apart && s.apart.set.Has(int(c.top.Slot)) { // after a scan, which does not look for another node of the group
			return Answer{}, false
		}
		allowed, failed := s.allows(int(c.top.Slot))
		if failed {
			return Answer{}, false
		}
		if s.wake(c, allowed, without); allowed {
			out.Feasible += int(c.count)
			feasible = append(feasible, *c)
		}
	}
	e.buffers.groups, e.buffers.feasible = groups, feasible
	if out.Feasible > 0 {
		scores, ok := s.best(feasible, &out)
		if q.Tie != nil && len(scores) > 0 {
			out.Slot = s.amongTied(q, feasible, scores, out)
		}
		return out, ok
	}
	if len(q.Without) > 0 {
		return Answer{}, false
	}
	var ok bool
	if out.Predicates, ok = s.ownPredicates(q.Pod); ok {
		out.Rejected, ok = s.rejected(groups, out.Predicates)
	}
	if !ok {
		return Answer{}, false
	}
	s.fail(&out)
	return out, true
}

// plain reports whether the best node in scan order is asked for, by groups alone.
func (s *podKind) plain(q *Question) bool { return q.plain() && len(s.apart.slots) == 0 }

// wake lets a group of exceptions sleep while its nodes are rejected: placements on them move nothing in its heap. It puts the heap of a group that is
// allowed again in order.
func (s *podKind) wake(c *candidate, allowed bool, without view.Slots) {
	x := &s.exceptions
	if s.rows == nil || c.apart || !x.has(c.top.Slot) {
		return
	}
	g := &x.list[x.of[c.top.Slot]]
	if g.asleep && allowed {
		g.heap.Order(x.at)
		c.top = g.heap.Best(heap.Skip{Slots: without})
	}
	g.asleep = !allowed
}

// amongTied lets the question choose among the nodes of the largest total, in scan order.
func (s *podKind) amongTied(q *Question, groups []candidate, scores []int64, best Answer) int {
	e, x, n := s.engine, &s.exceptions, 0
	tied := append(e.buffers.tied[:0], make([]uint64, len(e.scan)/64+1)...)
	e.buffers.tied = tied
	for k := range groups {
		top := groups[k].top
		score := heap.Score(top.Key)
		if groups[k].apart || score+scores[k] != best.Total {
			continue
		}
		g := s.groupOf(top.Slot)
		g.flip(score, tied)
		for k := range x.list { // exceptions are no nodes of their group of the layout
			if base := &s.layout.list[x.list[k].base]; base == g {
				x.list[k].flip(score, tied)
			}
		}
	}
	for i := range s.apart.leftOut(q).All() {
		tied[e.ranked[i]/64] &^= 1 << (e.ranked[i] % 64)
	}
	for k := range groups {
		if c := &groups[k]; c.apart && heap.Score(c.top.Key)+scores[k] == best.Total {
			tied[e.ranked[c.top.Slot]/64] |= 1 << (e.ranked[c.top.Slot] % 64)
		}
	}
	for _, word := range tied {
		n += bits.OnesCount64(word)
	}
	if n < 2 {
		return best.Slot
	}
	k := max(q.Tie(n), 0)
	for at, word := range tied {
		if c := bits.OnesCount64(word); k >= c {
			k -= c
			continue
		}
		for ; k > 0; k-- {
			word &= word - 1
		}
		return e.scan[at*64+bits.TrailingZeros64(word)]
	}
	return best.Slot
}

// candidate is a group of nodes with room: the nodes of a group of the layout that are no exceptions, a group of exceptions, or a node apart.
type candidate struct {
	class int32
	count int32
	top   heap.Entry
	apart bool
}

// gather appends the groups that have nodes with room. It leaves out groups that a static predicate rejects, and slots that have room.
func (s *podKind) gather(dst []candidate, without view.Slots) []candidate {
	l, x := s.layout, &s.exceptions
	for i := range without.All() {
		s.groupOf(int32(i)).without++
	}
	for g := range l.list {
		dst = s.candidate(dst, &l.list[g], x.within(g), heap.Skip{Marked: x.of, Slots: without})
	}
	for g := range x.list {
		dst = s.candidate(dst, &x.list[g], 0, heap.Skip{Slots: without})
	}
	return dst
}

// candidate appends a group if it has nodes with room and no static predicate rejects it. So many of the nodes in its heap are exceptions.
func (s *podKind) candidate(dst []candidate, g *group, exceptions int32, skip heap.Skip) []candidate {
	count, top, without := g.count, g.top, g.without
	if s.rows != nil {
		count = int32(len(g.heap)) - exceptions
	}
	count, g.without = count-without, 0
	if count == 0 || s.verdict(g).Verdict != 0 {
		return dst
	}
	if s.rows != nil {
		if top = g.heap[0]; without > 0 || exceptions > 0 && s.exceptions.has(top.Slot) {
			top = g.heap.Best(skip)
		}
	}
	return append(dst, candidate{class: g.class, count: count, top: top})
}

// scan checks the rows of the nodes for one pod, by boxes where the plugins answer about boxes. It writes into each group how many
// nodes have room and which node is best. It reports false when a score is out of range or the predicate fails.
func (s *podKind) scan() bool {
	l := s.layout
	for _, list := range [2][]group{l.list, s.exceptions.list} {
		for g := range list {
			g := &list[g]
			g.count, g.rejects, g.top = 0, g.rejects[:0], heap.Entry{} // the key of a node is larger than 0
		}
	}
	if filter, ok := s.row.searchable(); ok {
		if t := s.treeOf(); t != nil {
			return s.search(filter, t)
		}
	}
	for rank, i := range s.engine.scan {
		g := s.groupOf(int32(i))
		if s.verdict(g).Verdict != 0 {
			continue
		}
		key, reject, ok := s.row.key(i, int32(rank))
		switch {
		case !ok:
			return false
		case heap.Fits(key):
			g.offer(key, int32(i))
		default:
			l.list[g.base].tally(reject, 1)
		}
	}
	return true
}

// prepareRows prepares the plugins with KeepByNodeAndPods for a pod, and puts the predicate into the list. It reports false when a plugin fails.
func (s *podKind) prepareRows(pod *v1.Pod) (ok bool) {
	if s.row, ok = s.engine.rowPluginsOf(pod); ok && s.rowsAt >= 0 {
		s.predicates[s.rowsAt] = s.row.filter
	}
	return ok
}

// allows asks the predicates that are neither static nor read rows. All nodes of a group get the same answer. failed means that a predicate failed.
func (s *podKind) allows(i int) (allowed, failed bool) {
	ps := s.predicatesAt(i)
	for k := s.front; k < len(ps); k++ {
		if k == s.rowsAt {
			continue
		}
		if v := ps[k].Check(i); v != 0 {
			return false, ps.Err(filter.Rejection{Predicate: uint16(k), Verdict: v}, i) != nil
		}
	}
	return true, false
}

// divide asks the predicates between those in front and the predicate that reads rows about each group. It reports false when a predicate fails.
func (s *podKind) divide() bool {
	if s.rowsAt <= s.front {
		return true
	}
	between := s.predicates[s.front:s.rowsAt]
	for g := range s.layout.list {
		x := &s.layout.list[g]
		if x.before = (filter.Rejection{}); x.size == 0 || s.verdict(x).Verdict != 0 {
			continue
		}
		r := between.First(int(x.member))
		if between.Err(r, int(x.member)) != nil {
			return false
		}
		x.before = filter.Rejection{Predicate: uint16(s.plugin[s.front+int(r.Predicate)]), Verdict: r.Verdict}
	}
	return true
}
