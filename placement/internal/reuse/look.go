package reuse

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement/internal/heap"
)

// sighting is a feasible node that a look found.
type sighting struct {
	own   int64 // score over rows
	slot  int32
	group int32 // place among the candidates
}

// look is a walk over nodes that are examined one by one, as the search without kept work does. It reads the kept answer about each: a few ns
// a node, and less for spans of nodes.
type look struct {
	s       *shape
	own     func(i int) (int64, bool)
	fails   bool // own may say that the predicate failed
	without map[int]bool
	groups  []candidate
	tie     bool       // found is asked for
	found   []sighting // the feasible nodes
	spans   *spans     // nil: there are none
	limit   int        // of feasible nodes

	examined, feasible int
}

// look looks for the best of the first feasible nodes. The Slot of the answer is -1 when no node is feasible. It reports false when the caller
// must ask the plugins node by node.
func (s *shape) look(q *Question) (Answer, bool) {
	e := s.engine
	own, fails, ok := s.ownOf(q.Pod)
	if !ok {
		return Answer{}, false
	}
	order := q.Slots
	if order == nil {
		order = e.order()
	}
	w := look{s: s, own: own, fails: fails, without: q.Without, groups: s.candidates(), tie: q.Tie != nil, found: e.room.sightings[:0], spans: s.spansOf(q, order), limit: q.Limit}
	if w.limit <= 0 {
		w.limit = len(order)
	}
	ok = w.walk(order, q.From%len(order))
	e.room.sightings = w.found
	if !ok {
		return Answer{}, false
	}
	out := Answer{Slot: -1, Examined: w.examined, Feasible: w.feasible}
	switch w.feasible {
	case 0:
		return out, q.Slots == nil || len(q.Without) == 0 && s.refuse(q, &out)
	case 1:
		out.Slot = w.only()
	default:
		if out.Slot, out.Total, ok = s.chooseFound(w.groups, w.found, q.Tie); !ok {
			return Answer{}, false
		}
	}
	out.Predicates = s.accounts(q.Pod)
	return out, true
}

// spansOf returns the spans of an order; nil when each node must be examined.
func (s *shape) spansOf(q *Question, order []int) *spans {
	size := s.engine.span
	if !s.heaps || s.exceptions.some() || !q.plain() || len(order) < 2*size {
		return nil
	}
	x := &s.layout.whole
	if q.Slots != nil {
		x = &s.layout.part
	}
	x.divide(order, len(s.layout.of), size)
	return x
}

// walk examines the nodes from a place on, around the end, until enough are feasible. It reports false when the caller must ask the plugins.
func (w *look) walk(order []int, at int) bool {
	for left := len(order); left > 0 && w.feasible < w.limit; {
		end := min(len(order), at+left)
		passed := false
		if x := w.spans; x != nil {
			k := at / x.size
			end = min(end, (k+1)*x.size)
			if whole := x.slots(k); len(whole) == end-at {
				var ok bool
				if passed, ok = w.span(x.groups(k, w.s.layout), len(whole), len(order)); !ok {
					return false
				}
			}
		}
		if !passed && !w.nodes(order[at:end]) {
			return false
		}
		left -= end - at
		at = end % len(order)
	}
	return true
}

// nodes examines nodes until enough are feasible.
func (w *look) nodes(slots []int) bool {
	s := w.s
	for _, i := range slots {
		if w.feasible == w.limit {
			break
		}
		w.examined++
		g := s.candidateOf(i)
		c := &w.groups[g]
		if c.count == rejectedBefore || c.count == rejectedBehind && !w.fails {
			continue
		}
		score, ok := w.own(i)
		if !ok {
			return false
		}
		if score < 0 || c.count < 0 || w.without[i] {
			continue
		}
		if c.count == 0 {
			allowed, ok := w.first(c, i)
			if !ok {
				return false
			}
			if !allowed {
				continue
			}
		}
		if key := heap.Key(score, int32(w.examined)); key > c.top.Key { // the first key is larger than 0
			c.top = heap.Entry{Key: key, Slot: int32(i)}
		}
		c.count++
		w.feasible++
		if w.tie {
			w.found = append(w.found, sighting{score, int32(i), int32(g)})
		}
	}
	return true
}

// first asks about the first node of a group. ok is false when a predicate fails.
func (w *look) first(c *candidate, i int) (allowed, ok bool) {
	allowed, failed := w.s.allows(i)
	if !allowed {
		c.count = rejectedBehind
	}
	return allowed, !failed
}

// span takes all nodes of a span. It reports false, and takes none, when the walk may end among them.
func (w *look) span(groups []spanGroup, nodes, all int) (passed, ok bool) {
	n := 0
	for k := range groups {
		g := &groups[k]
		c := &w.groups[g.group]
		if c.count == 0 {
			if _, ok := w.first(c, int(g.best.Slot)); !ok {
				return false, false
			}
		}
		if c.count >= 0 {
			n += int(g.count)
		}
	}
	if w.limit < all && w.feasible+n >= w.limit {
		return false, true
	}
	for k := range groups {
		g := &groups[k]
		c := &w.groups[g.group]
		if c.count < 0 {
			continue
		}
		if top := g.best.Later(w.examined + 1); top.Key > c.top.Key {
			c.top = top
		}
		c.count += g.count
	}
	w.feasible += n
	w.examined += nodes
	return true, true
}

// only returns the feasible node, if there is one alone.
func (w *look) only() int {
	for k := range w.groups {
		if c := &w.groups[k]; c.count > 0 {
			return int(c.top.Slot)
		}
	}
	return -1
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
// when the sum of the scores is out of range or the predicate fails. fails is true if the predicate may fail.
func (s *shape) ownOf(pod *v1.Pod) (own func(i int) (int64, bool), fails, ok bool) {
	if w := s.rows; w != nil { // no node failed
		return func(i int) (int64, bool) { return heap.Score(w.keys[i]), true }, false, true
	}
	a, ok := s.engine.askerOf(pod)
	return func(i int) (int64, bool) {
		key, _, ok := a.key(i, 0)
		return heap.Score(key), ok
	}, a.coder != nil, ok
}

// Counts of groups that are rejected: by a predicate before the one that reads rows, or by one behind it.
const (
	rejectedBefore = -1
	rejectedBehind = -2
)

// candidates returns a candidate for each group of the layout, and behind them for each group of exceptions.
func (s *shape) candidates() []candidate {
	dst := s.engine.room.groups[:0]
	for _, list := range [2][]group{s.layout.list, s.exceptions.list} {
		for g := range list {
			c := candidate{class: list[g].class}
			if s.verdict(&list[g]).Verdict != 0 {
				c.count = rejectedBefore
			}
			dst = append(dst, c)
		}
	}
	s.engine.room.groups = dst
	return dst
}

// candidateOf returns the place of a slot's group among the candidates.
func (s *shape) candidateOf(i int) int32 {
	if x := &s.exceptions; x.has(int32(i)) {
		return int32(len(s.layout.list)) + x.of[i]
	}
	return s.layout.of[i]
}
