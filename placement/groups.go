package placement

import (
	"math"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/score"
)

// decide chooses among the groups instead of among the nodes: O(groups), after a scan of the rows for a shape without heaps.
// It reports false when the answer takes a look at each node: a score out of range, a verdict whose reasons differ from node
// to node. The decision is the same.
func (s *shape) decide(pod *v1.Pod, d *Decision) bool {
	r := s.reuse
	if !s.heaps && !s.scan(pod) {
		return false
	}
	s.gather()
	r.feasible = r.feasible[:0]
	feasible := 0
	for k := range r.groups {
		if c := &r.groups[k]; s.allows(int(c.top.slot)) {
			feasible += int(c.count)
			r.feasible = append(r.feasible, *c)
		}
	}
	slot, total := int32(-1), int64(0)
	switch {
	case feasible == 0:
		failure, ok := s.failure(d.Nodes)
		if !ok {
			return false
		}
		d.Failure = failure
	case feasible == 1:
		slot = r.feasible[0].top.slot
	default:
		if !s.addScores() {
			return false
		}
		slot, total = s.best()
	}
	d.Evaluated, d.Feasible, d.Slot, d.Total, d.Next = d.Nodes, feasible, int(slot), total, 0
	if slot >= 0 {
		d.Node = r.log.Node(int(slot)).Name
	}
	return true
}

// candidate is a group of nodes with room: nodes of a group of the layout without exceptions, or exceptions.
type candidate struct {
	class int32
	count int32
	top   heapEntry
}

// gather lists the groups that have nodes with room, apart from those that a static predicate rejects.
func (s *shape) gather() {
	l, r, x := s.layout, s.reuse, &s.exceptions
	r.groups = r.groups[:0]
	for g := range l.groups {
		base := &l.groups[g]
		c := candidate{base.class, base.count, base.top}
		if s.rows != nil {
			c.count = int32(len(base.heap))
		}
		if c.count == 0 || !l.verdict(base).Allowed() {
			continue
		}
		if s.rows != nil {
			if g < len(x.inBase) {
				c.count -= x.inBase[g]
			}
			if c.count == 0 {
				continue
			}
			if c.top = base.heap[0]; x.some && x.group[c.top.slot] >= 0 {
				c.top = x.best(base.heap, &r.frontier)
			}
		}
		r.groups = append(r.groups, c)
	}
	for g := range x.groups {
		e := &x.groups[g]
		base := &l.groups[e.base]
		c := candidate{base.class, e.count, e.top}
		if s.rows != nil {
			if c.count = int32(len(e.heap)); c.count > 0 {
				c.top = e.heap[0]
			}
		}
		if c.count > 0 && l.verdict(base).Allowed() {
			r.groups = append(r.groups, c)
		}
	}
}

// scan judges the rows of every node for one pod and leaves in each group how many nodes have room and which is the best.
func (s *shape) scan(pod *v1.Pod) bool {
	l, r := s.layout, s.reuse
	a, ok := r.askerOf(pod)
	if !ok {
		return false
	}
	if s.own >= 0 {
		s.attempt.Predicates[s.own] = a.fit
	}
	for g := range l.groups {
		x := &l.groups[g]
		x.count, x.rejects, x.top = 0, x.rejects[:0], heapEntry{key: -1}
	}
	except := &s.exceptions
	for g := range except.groups {
		except.groups[g].count, except.groups[g].top = 0, heapEntry{key: -1}
	}
	for rank, i := range r.plan.order() {
		x := &l.groups[l.group[i]]
		if !l.verdict(x).Allowed() {
			continue
		}
		key, reject, ok := a.key(i, int32(rank))
		if !ok {
			return false
		}
		if key < 0 {
			x.tally(reject, 1)
			continue
		}
		if except.some && except.group[i] >= 0 {
			e := &except.groups[except.group[i]]
			if e.count++; key > e.top.key {
				e.top = heapEntry{key, int32(i)}
			}
			continue
		}
		if x.count++; key > x.top.key {
			x.top = heapEntry{key, int32(i)}
		}
	}
	return true
}

// allows asks the predicates behind the static ones and the one that reads rows. All nodes of a group get the same answer.
func (s *shape) allows(i int) bool {
	for k := s.front; k < len(s.attempt.Predicates); k++ {
		if k != s.own && s.attempt.Predicates[k].Check(i) != 0 {
			return false
		}
	}
	return true
}

// addScores works out what each feasible group's nodes get beside their own scores. It reports false when a score is out
// of range.
func (s *shape) addScores() bool {
	r := s.reuse
	r.add = append(r.add[:0], make([]int64, len(r.feasible))...)
	r.raw = append(r.raw[:0], r.add...)
	for k := range s.attempt.scorers {
		x := &s.attempt.scorers[k]
		if x.weigher != nil {
			r.weighed, r.counts = r.weighed[:0], r.counts[:0]
			for j := range r.feasible {
				r.weighed, r.counts = append(r.weighed, r.feasible[j].top.slot), append(r.counts, r.feasible[j].count)
			}
			x.weigher.Weigh(r.weighed, r.counts)
		}
		lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
		fixed := s.static.scorers[s.order[k]] != nil
		for j := range r.feasible {
			i := int(r.feasible[j].top.slot)
			if fixed {
				r.raw[j] = s.static.raw[r.feasible[j].class][s.order[k]]
			} else {
				r.raw[j] = x.Raw(i)
			}
			if !x.ignored(i) {
				lo, hi = min(lo, r.raw[j]), max(hi, r.raw[j])
			}
		}
		for j := range r.feasible {
			if x.ignored(int(r.feasible[j].top.slot)) {
				continue
			}
			n := r.raw[j]
			if x.normalize != nil {
				n = x.normalize.Normalize(n, lo, hi)
			}
			if n < score.MinScore || n > score.MaxScore {
				return false
			}
			r.add[j] += n * x.weight
		}
	}
	return true
}

// best returns the node with the largest total, the first in scan order of several.
func (s *shape) best() (slot int32, total int64) {
	r := s.reuse
	slot, total = -1, math.MinInt64
	var rank int64
	for j := range r.feasible {
		top := r.feasible[j].top
		t, place := top.key>>32+r.add[j], top.key&math.MaxUint32 // larger is earlier
		if t > total || t == total && place > rank {
			slot, total, rank = top.slot, t, place
		}
	}
	return slot, total
}

// failure counts the first rejections group by group. It reports false for verdicts whose reasons differ from node to node.
func (s *shape) failure(nodes int) (*Failure, bool) {
	var h filter.Histogram
	ps := s.attempt.Predicates
	for g := range s.layout.groups {
		x := &s.layout.groups[g]
		if x.size == 0 {
			continue
		}
		if v := s.layout.verdict(x); !v.Allowed() {
			v.Predicate = s.position(v.Predicate)
			if partial(ps, v) {
				return nil, false
			}
			h.Add(ps, v, int(x.member), int(x.size))
			continue
		}
		for _, t := range x.rejects {
			r := filter.Rejection{Predicate: uint16(s.own), Verdict: t.verdict}
			if t.n > 0 && partial(ps, r) {
				return nil, false
			}
			h.Add(ps, r, int(x.member), int(t.n))
		}
	}
	for k := range s.reuse.groups {
		c := &s.reuse.groups[k]
		i := int(c.top.slot)
		r := ps.First(i)
		if partial(ps, r) || ps.Err(r, i) != nil {
			return nil, false
		}
		h.Add(ps, r, i, int(c.count))
	}
	return s.attempt.failure(nodes, &h), true
}

// position returns where the predicate of a plugin of the profile stands.
func (s *shape) position(plugin uint16) uint16 {
	for at, k := range s.plugin {
		if k == int(plugin) {
			return uint16(at)
		}
	}
	return 0
}

// partial reports whether the reasons of a rejection must be asked for node by node.
func partial(ps filter.Predicates, r filter.Rejection) bool {
	d, ok := ps[r.Predicate].(filter.Detailer)
	return ok && d.Partial(r.Verdict)
}
