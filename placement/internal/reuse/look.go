package reuse

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
)

// sighting is a feasible node that a look found.
type sighting struct {
	own   int64 // score over rows
	slot  int32
	group int32 // place among the candidates
}

// look examines the nodes one by one, as the search without kept work does, and reads the kept answer about each: a few ns a node. The
// Slot of the answer is -1 when no node is feasible. It reports false when the caller must ask the plugins node by node.
func (s *shape) look(q *Question) (Answer, bool) {
	e := s.engine
	own, ok := s.ownOf(q.Pod)
	if !ok {
		return Answer{}, false
	}
	groups, found := s.candidates(), e.room.found[:0]
	limit, order := q.Limit, q.Slots
	if order == nil {
		order = e.order()
	}
	if limit <= 0 {
		limit = len(order)
	}
	out := Answer{Slot: -1}
	at := q.From % len(order)
	for out.Examined < len(order) && len(found) < limit {
		i := order[at]
		if at++; at == len(order) {
			at = 0
		}
		out.Examined++
		g := s.candidateOf(i)
		c := &groups[g]
		if c.count < 0 {
			continue
		}
		score, ok := own(i)
		if !ok {
			return Answer{}, false
		}
		if score < 0 || q.Without[i] {
			continue
		}
		if c.count == 0 { // the first node of the group
			allowed, failed := s.allows(i)
			if failed {
				return Answer{}, false
			}
			if !allowed {
				c.count = -1
				continue
			}
		}
		if key := keyOf(score, int32(len(found))); key > c.top.key { // the first key is larger than 0
			c.top = heapEntry{key, int32(i)}
		}
		c.count++
		found = append(found, sighting{score, int32(i), int32(g)})
	}
	e.room.found = found
	switch out.Feasible = len(found); out.Feasible {
	case 0:
		return out, q.Slots == nil || len(q.Without) == 0 && s.refuse(q, &out)
	case 1:
		out.Slot = int(found[0].slot)
	default:
		if out.Slot, out.Total, ok = s.chooseFound(groups, found, q.Tie); !ok {
			return Answer{}, false
		}
	}
	out.Predicates = s.accounts(q.Pod)
	return out, true
}

// refuse writes why no node of a question about some nodes is feasible. It reports false when the caller must ask node by node.
func (s *shape) refuse(q *Question, out *Answer) bool {
	if s.asksAll() {
		return false
	}
	if !s.heaps {
		if _, ok := s.askOwn(q.Pod); !ok {
			return false
		}
	}
	out.Predicates, out.Rejected = s.predicatesOf(q.Pod), &filter.Histogram{}
	for _, i := range q.Slots {
		r := out.Predicates.First(i)
		if out.Predicates.Err(r, i) != nil {
			return false
		}
		out.Rejected.Add(out.Predicates, r, i, 1)
	}
	return true
}

// chooseFound chooses among the nodes that a look found. groups have the number of them and the best of them.
func (s *shape) chooseFound(groups []candidate, found []sighting, tie func(n int) int) (slot int, total int64, ok bool) {
	room := &s.engine.room
	feasible, places := room.feasible[:0], room.places[:0]
	for k := range groups {
		places = append(places, int32(len(feasible)))
		if groups[k].count > 0 {
			feasible = append(feasible, groups[k])
		}
	}
	room.feasible, room.places = feasible, places
	scores, ok := s.scoresOf(feasible)
	if !ok {
		return -1, 0, false
	}
	if slot, total = best(feasible, scores); tie == nil {
		return slot, total, true
	}
	tied := room.slots[:0]
	for k := range found {
		if x := &found[k]; x.own+scores[places[x.group]] == total {
			tied = append(tied, x.slot)
		}
	}
	room.slots = tied
	if len(tied) > 1 {
		if k := uint(tie(len(tied))); k < uint(len(tied)) { // a negative number is out of range too
			slot = int(tied[k])
		}
	}
	return slot, total, true
}

// ownOf returns a function that returns the score of a slot over rows: negative when its rows reject the slot. That function reports false
// when the sum of the scores is out of range or the predicate fails.
func (s *shape) ownOf(pod *v1.Pod) (func(i int) (int64, bool), bool) {
	if w := s.rows; w != nil {
		return func(i int) (int64, bool) { return w.keys[i] >> 32, true }, true
	}
	a, ok := s.engine.askerOf(pod)
	return func(i int) (int64, bool) {
		key, _, ok := a.key(i, 0)
		return key >> 32, ok
	}, ok
}

// candidates returns a candidate for each group of the layout, and behind them for each group of exceptions. A count of -1 means that a
// static predicate rejects the group.
func (s *shape) candidates() []candidate {
	l, dst := s.layout, s.engine.room.groups[:0]
	add := func(base int32) {
		c := candidate{class: l.groups[base].class}
		if s.verdict(&l.groups[base]).Verdict != 0 {
			c.count = -1
		}
		dst = append(dst, c)
	}
	for g := range l.groups {
		add(int32(g))
	}
	for g := range s.exceptions.groups {
		add(s.exceptions.groups[g].base)
	}
	s.engine.room.groups = dst
	return dst
}

// candidateOf returns the place of a slot's group among the candidates.
func (s *shape) candidateOf(i int) int32 {
	if x := &s.exceptions; x.some && x.group[i] >= 0 {
		return int32(len(s.layout.groups)) + x.group[i]
	}
	return s.layout.group[i]
}
