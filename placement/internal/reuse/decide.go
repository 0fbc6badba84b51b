package reuse

import (
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement/internal/heap"
	"github.com/podberth/podberth/score"
)

// decide answers a question about the shape's pods. It reports false when the caller must ask node by node: a score is out of range, the
// reasons of a verdict differ from node to node, or Without leaves no node. The decision is the same either way.
func (s *shape) decide(q *Question) (Answer, bool) {
	if !s.divide() {
		return Answer{}, false
	}
	if q.inOrder() || !s.heaps && !q.plain() {
		if out, ok := s.look(q); !ok || out.Slot >= 0 || q.Slots != nil {
			return out, ok
		}
	}
	if !s.heaps && !s.scan(q.Pod) {
		return Answer{}, false
	}
	return s.choose(q)
}

// choose chooses among the groups in place of the nodes: O(groups), after a scan of the rows for a shape without heaps.
func (s *shape) choose(q *Question) (Answer, bool) {
	e, pod := s.engine, q.Pod
	groups := s.gather(e.room.groups[:0])
	if len(q.Without) > 0 {
		s.leaveOut(q.Without, groups)
	}
	feasible := e.room.feasible[:0]
	out := Answer{Slot: -1}
	for k := range groups {
		c := &groups[k]
		if c.count == 0 {
			continue
		}
		allowed, failed := s.allows(int(c.top.Slot))
		if failed {
			return Answer{}, false
		}
		if allowed {
			out.Feasible += int(c.count)
			feasible = append(feasible, *c)
		}
	}
	e.room.groups, e.room.feasible = groups, feasible
	switch {
	case out.Feasible == 0:
		if len(q.Without) > 0 {
			return Answer{}, false
		}
		rejected, ok := s.rejected(groups)
		if !ok || s.asksAll() {
			return Answer{}, false
		}
		out.Predicates, out.Rejected = s.predicatesOf(pod), rejected
		s.fail(&out)
	case out.Feasible == 1:
		out.Slot = int(feasible[0].top.Slot)
	default:
		scores, ok := s.scoresOf(feasible)
		if !ok {
			return Answer{}, false
		}
		out.Slot, out.Total = best(feasible, scores)
		if q.Tie != nil {
			out.Slot = s.amongTied(q, feasible, scores, out)
		}
	}
	if out.Slot >= 0 {
		out.Predicates = s.accounts(pod)
	}
	return out, true
}

// accounts returns the predicates that states have for one pod; nil when no state is Accountable.
func (s *shape) accounts(pod *v1.Pod) (out filter.Predicates) {
	if s.account {
		s.eachAccount(pod, func(_ int, p filter.Predicate) { out = append(out, p) })
	}
	return out
}

// candidate is a group of nodes with room: the nodes of a group of the layout that are no exceptions, or a group of
// exceptions.
type candidate struct {
	class int32
	count int32
	top   heap.Entry
}

// gather appends the groups that have nodes with room. It leaves out groups that a static predicate rejects.
func (s *shape) gather(dst []candidate) []candidate {
	l, x := s.layout, &s.exceptions
	for g := range l.list {
		dst = s.candidate(dst, &l.list[g], x.within(g))
	}
	for g := range x.list {
		dst = s.candidate(dst, &x.list[g], 0)
	}
	return dst
}

// candidate appends a group if it has nodes with room and no static predicate rejects it. So many of the nodes in its heap are exceptions,
// which do not count.
func (s *shape) candidate(dst []candidate, g *group, exceptions int32) []candidate {
	c := candidate{g.class, g.count, g.top}
	if s.rows != nil {
		c.count = int32(len(g.heap)) - exceptions
	}
	if c.count == 0 || s.verdict(g).Verdict != 0 {
		return dst
	}
	if s.rows != nil {
		if c.top = g.heap[0]; exceptions > 0 && s.exceptions.has(c.top.Slot) {
			c.top = g.heap.Best(heap.Skip{Marked: s.exceptions.of}, &s.engine.room.frontier)
		}
	}
	return append(dst, c)
}

// scan checks the rows of the nodes for one pod, by boxes where the plugins answer about boxes. It writes into each group how many
// nodes have room and which node is best.
func (s *shape) scan(pod *v1.Pod) bool {
	l, e := s.layout, s.engine
	a, ok := s.askOwn(pod)
	if !ok {
		return false
	}
	for _, list := range [2][]group{l.list, s.exceptions.list} {
		for g := range list {
			g := &list[g]
			g.count, g.rejects, g.top = 0, g.rejects[:0], heap.Entry{} // the key of a node is larger than 0
		}
	}
	if filter, ok := a.searchable(); ok {
		if t := s.treeOf(); t != nil {
			return s.search(&a, filter, t)
		}
	}
	for rank, i := range e.order() {
		g := s.groupOf(int32(i))
		if s.verdict(g).Verdict != 0 {
			continue
		}
		key, reject, ok := a.key(i, int32(rank))
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

// askOwn makes the predicate over rows of the list that of a pod. It reports false when the pod's rows cannot be asked.
func (s *shape) askOwn(pod *v1.Pod) (asker, bool) {
	a, ok := s.engine.askerOf(pod)
	if ok && s.own >= 0 {
		s.predicates[s.own] = a.filter
	}
	return a, ok
}

// predicatesOf returns a copy of the list, which changes for the next pod, with the predicates that states have for a pod.
func (s *shape) predicatesOf(pod *v1.Pod) filter.Predicates {
	out := slices.Clone(s.predicates)
	s.eachAccount(pod, func(at int, p filter.Predicate) { out[at] = p })
	return out
}

// eachAccount yields the predicates that states have for one pod, with their places in the list.
func (s *shape) eachAccount(pod *v1.Pod, yield func(at int, p filter.Predicate)) {
	for at, place := range s.plugin {
		if x, ok := s.stateOf(s.engine.filters[place]).(Accountable); ok {
			yield(at, x.Of(pod))
		}
	}
}

// asksAll reports whether a state wants its predicate asked node by node when a pod fits on no node.
func (s *shape) asksAll() bool {
	for _, place := range s.plugin {
		if x, ok := s.stateOf(s.engine.filters[place]).(Accountable); ok && x.AskAll() {
			return true
		}
	}
	return false
}

// allows asks the predicates that are neither static nor read rows. All nodes of a group get the same answer. failed means that
// a predicate failed.
func (s *shape) allows(i int) (allowed, failed bool) {
	for k := s.front; k < len(s.predicates); k++ {
		if k == s.own {
			continue
		}
		if v := s.predicates[k].Check(i); v != 0 {
			return false, s.predicates.Err(filter.Rejection{Predicate: uint16(k), Verdict: v}, i) != nil
		}
	}
	return true, false
}

// scoresOf returns, by group, the weighted scores that all nodes of a feasible group share; the scores over rows are not among
// them. It reports false when a score is out of range. The slice is valid until the next call.
func (s *shape) scoresOf(groups []candidate) ([]int64, bool) {
	room := &s.engine.room
	room.add = append(room.add[:0], make([]int64, len(groups))...)
	room.raw = append(room.raw[:0], room.add...)
	add, raw := room.add, room.raw
	for k := range s.scorers {
		x := &s.scorers[k]
		if x.Weigher != nil {
			room.slots, room.counts = room.slots[:0], room.counts[:0]
			for j := range groups {
				room.slots, room.counts = append(room.slots, groups[j].top.Slot), append(room.counts, groups[j].count)
			}
			x.Weigher.Weigh(room.slots, room.counts)
		}
		lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
		fixed := s.static.scorers[s.order[k]] != nil
		for j := range groups {
			i := int(groups[j].top.Slot)
			if fixed {
				raw[j] = s.static.raw[groups[j].class][s.order[k]]
			} else {
				raw[j] = x.Raw(i)
			}
			if !x.Ignored(i) {
				lo, hi = min(lo, raw[j]), max(hi, raw[j])
			}
		}
		for j := range groups {
			if x.Ignored(int(groups[j].top.Slot)) {
				continue
			}
			n := raw[j]
			if x.Normalizer != nil {
				n = x.Normalizer.Normalize(n, lo, hi)
			}
			if n < 0 || n > score.MaxScore {
				return nil, false
			}
			add[j] += n * x.Weight
		}
	}
	return add, true
}

// best returns the node with the largest total; of equal totals the first in scan order. There must be a group.
func best(groups []candidate, add []int64) (slot int, total int64) {
	var first uint32
	for j := range groups {
		top := groups[j].top
		t, place := heap.Score(top.Key)+add[j], heap.Place(top.Key)
		if j == 0 || t > total || t == total && place < first {
			slot, total, first = int(top.Slot), t, place
		}
	}
	return slot, total
}

// rejected counts the first rejections, group by group. It reports false when the reasons of a verdict differ from node to
// node.
func (s *shape) rejected(groups []candidate) (*filter.Histogram, bool) {
	h := &filter.Histogram{}
	ps := s.predicates
	add := func(r filter.Rejection, slot, n int32) bool {
		if d, ok := ps[r.Predicate].(filter.Detailer); n > 0 && ok && d.Partial(r.Verdict) {
			return false
		}
		h.Add(ps, r, int(slot), int(n))
		return true
	}
	for g := range s.layout.list {
		x := &s.layout.list[g]
		if v := s.verdict(x); v.Verdict != 0 {
			v.Predicate = s.position(v.Predicate)
			if !add(v, x.member, x.size) {
				return nil, false
			}
			continue
		}
		for _, t := range x.rejects {
			if !add(filter.Rejection{Predicate: uint16(s.own), Verdict: t.verdict}, x.member, t.n) {
				return nil, false
			}
		}
	}
	for k := range groups {
		c := &groups[k]
		i := int(c.top.Slot)
		r := ps.First(i)
		if !add(r, c.top.Slot, c.count) || ps.Err(r, i) != nil {
			return nil, false
		}
	}
	return h, true
}

// position returns the place of a plugin's predicate in the shape's list.
func (s *shape) position(plugin uint16) uint16 {
	return uint16(slices.Index(s.plugin, int(plugin)))
}
