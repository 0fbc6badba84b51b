package reuse

import (
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/placement/internal/heap"
)

// foundNode is a feasible node that a walk found.
type foundNode struct {
	score int64 // over rows
	slot  int32
	group int32 // place among the candidates
}

// walk examines nodes one by one, as the search without kept work does. It reads the kept answer about each: a few ns
// a node, and less for spans of nodes.
type walk struct {
	s       *podKind
	without view.Slots
	groups  []candidate
	tie     bool        // found is asked for
	found   []foundNode // the feasible nodes
	spans   *spans      // nil: there are none
	limit   int         // of feasible nodes

	examined, feasible int
}

// firstFeasible chooses the best of the first feasible nodes. The Slot of the answer is -1 when no node is feasible. It reports false when the caller
// must ask the plugins node by node.
func (s *podKind) firstFeasible(q *Question) (Answer, bool) {
	e := s.engine
	order := q.Slots
	if order == nil {
		order = e.scan
	}
	w := walk{s: s, without: q.Without, groups: s.candidates(), tie: q.Tie != nil, found: e.buffers.foundNodes[:0], spans: s.spansOf(q, order), limit: q.Limit}
	if w.limit <= 0 {
		w.limit = len(order)
	}
	ok := w.walk(order, q.From%len(order))
	e.buffers.foundNodes = w.found
	if !ok {
		return Answer{}, false
	}
	out := Answer{Slot: -1, Examined: w.examined, Feasible: w.feasible}
	if out.Feasible == 0 {
		return out, q.Slots == nil || len(q.Without) == 0 && s.refuse(q, &out)
	}
	return out, s.chooseFound(w.groups, w.found, q.Tie, &out)
}

// spansOf returns the spans of an order; nil when each node must be examined.
func (s *podKind) spansOf(q *Question, order []int) *spans {
	size := s.engine.span
	if !s.heaps || s.exceptions.some() || !s.plain(q) || len(order) < 2*size {
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
func (w *walk) walk(order []int, at int) bool {
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
func (w *walk) nodes(slots []int) bool {
	s := w.s
	for _, i := range slots {
		if w.feasible == w.limit {
			break
		}
		w.examined++
		g := s.layout.of[i]
		if x := &s.exceptions; x.has(int32(i)) {
			g = int32(len(s.layout.list)) + x.of[i]
		}
		if at := s.apart.place(i); at >= 0 {
			g = int32(len(w.groups) - len(s.apart.slots) + at)
		}
		c := &w.groups[g]
		if c.count == rejectedBefore || c.count == rejectedBehind && (s.heaps || s.row.coder == nil) {
			continue
		}
		score, ok := s.rowScore(i)
		if !ok {
			return false
		}
		if score < 0 || c.count < 0 || w.without.Has(i) {
			continue
		}
		if c.count == 0 {
			if !w.first(c, i) {
				return false
			}
			if c.count < 0 {
				continue
			}
		}
		if key := heap.Key(score, int32(w.examined)); key > c.top.Key { // the first key is larger than 0
			c.top = heap.Entry{Key: key, Slot: int32(i)}
		}
		c.count++
		w.feasible++
		if w.tie {
			w.found = append(w.found, foundNode{score, int32(i), g})
		}
	}
	return true
}

// first asks about the first node of a group. It reports false when a predicate fails.
func (w *walk) first(c *candidate, i int) bool {
	allowed, failed := w.s.allows(i)
	if !allowed {
		c.count = rejectedBehind
	}
	return !failed
}

// span takes all nodes of a span. It reports false, and takes none, when the walk may end among them.
func (w *walk) span(groups []spanGroup, nodes, all int) (passed, ok bool) {
	n := 0
	for k := range groups {
		g := &groups[k]
		c := &w.groups[g.group]
		if c.count == 0 && !w.first(c, int(g.best.Slot)) {
			return false, false
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

// refuse writes why no node of a question about some nodes is feasible. It reports false when the caller must ask node by node.
func (s *podKind) refuse(q *Question, out *Answer) bool {
	var ok bool
	if out.Predicates, ok = s.ownPredicates(q.Pod); !ok {
		return false
	}
	out.Rejected = &filter.Histogram{}
	for _, i := range q.Slots {
		r := out.Predicates.First(i)
		if out.Predicates.Err(r, i) != nil {
			return false
		}
		out.Rejected.Add(out.Predicates, r, i, 1)
	}
	return true
}

// chooseFound chooses among the nodes that a walk found. groups have the number of them and the best of them.
// It reports false when a score is out of range.
func (s *podKind) chooseFound(groups []candidate, found []foundNode, tie func(n int) int, out *Answer) bool {
	b := &s.engine.buffers
	feasible, places := b.feasible[:0], b.places[:0]
	for k := range groups {
		places = append(places, int32(len(feasible)))
		if groups[k].count > 0 {
			feasible = append(feasible, groups[k])
		}
	}
	b.feasible, b.places = feasible, places
	scores, ok := s.best(feasible, out)
	if tie == nil || len(scores) == 0 {
		return ok
	}
	tied := b.slots[:0]
	for k := range found {
		if x := &found[k]; x.score+scores[places[x.group]] == out.Total {
			tied = append(tied, x.slot)
		}
	}
	b.slots = tied
	if len(tied) > 1 {
		if k := uint(tie(len(tied))); k < uint(len(tied)) { // a negative number is out of range too
			out.Slot = int(tied[k])
		}
	}
	return ok
}

// Counts of groups that are rejected: by a predicate before the one that reads rows, or by one behind it.
const (
	rejectedBefore = -1
	rejectedBehind = -2
)

// candidates returns a candidate for each group of the layout, behind them for each group of exceptions, and then for each node apart.
func (s *podKind) candidates() []candidate {
	dst := s.engine.buffers.groups[:0]
	for _, list := range [2][]group{s.layout.list, s.exceptions.list} {
		for g := range list {
			c := candidate{class: list[g].class}
			if s.verdict(&list[g]).Verdict != 0 {
				c.count = rejectedBefore
			}
			dst = append(dst, c)
		}
	}
	for _, i := range s.apart.slots {
		dst = append(dst, candidate{class: s.groupOf(i).class})
	}
	s.engine.buffers.groups = dst
	return dst
}
