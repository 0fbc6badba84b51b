package reuse

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/placement/internal/heap"
	"github.com/podberth/podberth/placement/internal/hooks"
)

// apart are the nodes about which the pod that is asked about is asked alone: its verdict there may not be that of the pods that share the kind. Each
// of these nodes is a candidate of its own.
type apart struct {
	own    filter.Predicates // of the pod, in the places of the kind's; nil: no node is apart
	named  []int32           // by the states
	slots  []int32           // of these, the nodes with room that no predicate rejects which all pods share, each once
	set    view.Slots        // the same
	hidden view.Slots        // the same, and those that a question leaves out
}

// setApart finds the nodes apart for a question. It reports false when the caller must ask node by node: a predicate fails, or a predicate before
// the one that reads rows has another verdict for the pod.
func (s *podKind) setApart(q *Question) bool {
	x := &s.apart
	for _, i := range x.slots {
		x.set.Remove(int(i))
	}
	if x.own, x.named, x.slots = nil, x.named[:0], x.slots[:0]; !s.perPod {
		return true
	}
	before := false
	s.eachPerPod(func(at int, p hooks.PerPod) {
		n := len(x.named)
		x.named = p.Apart(x.named, q.Pod)
		before = before || at < s.rowsAt && len(x.named) > n
	})
	if before {
		return false
	}
	for _, i := range x.named {
		if s.layout.of[i] < 0 || x.set.Has(int(i)) || q.Without.Has(int(i)) || s.verdict(s.groupOf(i)).Verdict != 0 {
			continue
		}
		switch score, ok := s.rowScore(int(i)); {
		case !ok:
			return false
		case score >= 0:
			x.slots = append(x.slots, i)
			x.set.Add(int(i))
		}
	}
	if len(x.slots) == 0 {
		return true
	}
	own, ok := s.ownPredicates(q.Pod)
	x.own = own
	return ok
}

// place returns the place of a node apart among the slots; -1 when it is none.
func (x *apart) place(i int) int {
	if !x.set.Has(i) {
		return -1
	}
	return slices.Index(x.slots, int32(i))
}

// leftOut returns the nodes that do not count in their groups: those that the question leaves out, and the nodes apart. It is valid until the next call.
func (x *apart) leftOut(q *Question) view.Slots {
	if len(x.slots) == 0 {
		return q.Without
	}
	x.hidden = append(x.hidden[:0], q.Without...)
	for _, i := range x.slots {
		x.hidden.Add(int(i))
	}
	return x.hidden
}

// candidatesApart appends the nodes apart.
func (s *podKind) candidatesApart(dst []candidate) []candidate {
	for _, i := range s.apart.slots {
		c := candidate{class: s.groupOf(i).class, count: 1, top: heap.Entry{Slot: i}, apart: true}
		if s.rows != nil {
			c.top.Key = s.rows.keys[i]
		}
		dst = append(dst, c)
	}
	return dst
}

// predicatesAt returns the predicates that decide about a slot.
func (s *podKind) predicatesAt(i int) filter.Predicates {
	if s.apart.set.Has(i) {
		return s.apart.own
	}
	return s.predicates
}

// ownPredicates returns the predicates of the pod that is asked about. It reports false when a plugin fails.
func (s *podKind) ownPredicates(pod *v1.Pod) (own filter.Predicates, ok bool) {
	if s.apart.own != nil {
		return s.apart.own, true
	}
	if !s.refresh() {
		return nil, false
	}
	return s.predicatesOf(pod), true
}
