package placement

import (
	"math"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/score"
)

// decide chooses among the groups instead of among the nodes: O(groups). It reports false when the answer takes a look at
// each node: a score out of range, a verdict whose reasons differ from node to node. The decision is the same.
func (s *shape) decide(d *Decision) bool {
	l, r := s.layout, s.reuse
	r.feasible = r.feasible[:0]
	feasible := 0
	for g := range l.groups {
		if x := &l.groups[g]; len(x.heap) > 0 && s.allows(int(x.heap[0].slot)) {
			r.feasible = append(r.feasible, int32(g))
			feasible += len(x.heap)
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
		slot = l.groups[r.feasible[0]].heap[0].slot
	default:
		if !s.addScores() {
			return false
		}
		slot, total = s.best()
	}
	d.Evaluated, d.Feasible, d.Slot, d.Total = d.Nodes, feasible, int(slot), total
	if slot >= 0 {
		d.Node = s.attempt.plan.cluster.Node(int(slot)).Name
	}
	d.Next = 0
	return true
}

// allows asks the predicates behind the one that reads rows. All nodes of a group get the same answer.
func (s *shape) allows(i int) bool {
	for _, p := range s.attempt.Predicates[max(s.statics, s.own+1):] {
		if p.Check(i) != 0 {
			return false
		}
	}
	return true
}

// addScores works out what each feasible group's nodes get beside their own scores. It reports false when a score is out
// of range.
func (s *shape) addScores() bool {
	l, r := s.layout, s.reuse
	r.add = append(r.add[:0], make([]int64, len(r.feasible))...)
	r.raw = append(r.raw[:0], r.add...)
	fixed := 0
	for k := range s.attempt.scorers {
		if s.kinds[k] == ownScore {
			continue
		}
		x := &s.attempt.scorers[k]
		if x.weigher != nil {
			x.weigher.Begin()
			for _, g := range r.feasible {
				h := l.groups[g].heap
				x.weigher.See(int(h[0].slot), int32(len(h)))
			}
			x.weigher.Weigh()
		}
		lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
		for j, g := range r.feasible {
			i := int(l.groups[g].heap[0].slot)
			if s.kinds[k] == fixedScore {
				r.raw[j] = l.groups[g].raw[fixed]
			} else {
				r.raw[j] = x.Raw(i)
			}
			if !x.ignored(i) {
				lo, hi = min(lo, r.raw[j]), max(hi, r.raw[j])
			}
		}
		for j, g := range r.feasible {
			if x.ignored(int(l.groups[g].heap[0].slot)) {
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
		if s.kinds[k] == fixedScore {
			fixed++
		}
	}
	return true
}

// best returns the node with the largest total, the first in scan order of several.
func (s *shape) best() (slot int32, total int64) {
	l, r := s.layout, s.reuse
	slot, total = -1, math.MinInt64
	for j, g := range r.feasible {
		top := l.groups[g].heap[0]
		t := top.key>>32 + r.add[j]
		if t > total || t == total && l.rank[top.slot] < l.rank[slot] {
			slot, total = top.slot, t
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
		switch {
		case x.size == 0:
		case x.static.Verdict != 0:
			if partial(ps, x.static) {
				return nil, false
			}
			h.Add(ps, x.static, 0, int(x.size))
		default:
			for _, t := range x.rejects {
				r := filter.Rejection{Predicate: uint16(s.own), Verdict: t.verdict}
				if t.n > 0 && partial(ps, r) {
					return nil, false
				}
				h.Add(ps, r, int(t.slot), int(t.n))
			}
			if len(x.heap) > 0 {
				i := int(x.heap[0].slot)
				r := ps.First(i)
				if partial(ps, r) || ps.Err(r, i) != nil {
					return nil, false
				}
				h.Add(ps, r, i, len(x.heap))
			}
		}
	}
	return s.attempt.failure(nodes, &h), true
}

// partial reports whether the reasons of a rejection must be asked for node by node.
func partial(ps filter.Predicates, r filter.Rejection) bool {
	d, ok := ps[r.Predicate].(filter.Detailer)
	return ok && d.Partial(r.Verdict)
}
