package optimal

import (
	"math"

	"github.com/podberth/podberth/preemption"
)

// barrer is the optional method of a WhatIf that knows pods that must leave, on whatever slot they are.
type barrer interface {
	// Bars returns pods without whose leaving the preemptor does not fit on slot i. Slots may share a list.
	Bars(i int) []preemption.Placed
}

// barred reports whether the pods that must leave are not better than the best victims so far, so that no victims on the slot are.
// The values of a list are computed once.
func (s *Search) barred(p *preemption.Problem) bool {
	w, ok := p.WhatIf.(barrer)
	if !ok {
		return false
	}
	list := w.Bars(p.Slot)
	if len(list) == 0 {
		return false
	}
	v, known := s.bars[&list[0]]
	if !known {
		v = s.barring(p, list)
		s.bars[&list[0]] = v
	}
	for _, q := range list {
		if q.Slot != p.Slot {
			v[Foreign]++
		}
	}
	return !s.better(&v) || s.o.NeverViolate && v[Violations] > 0
}

// barring returns the values of pods that must leave, without Foreign.
func (s *Search) barring(p *preemption.Problem, list []preemption.Placed) Values {
	v, single := noVictims, true
	var breaks int64
	if p.Ledger != nil {
		p.Ledger.Undo(0)
	}
	for _, q := range list {
		s.addPod(&v, q, q.Slot, p.Now)
		if budgets := p.Matches(q.Pod); len(budgets) > 0 {
			single = single && len(budgets) == 1
			if p.Take(budgets, q.Pod.Name) {
				breaks++
			}
		}
	}
	if p.Ledger != nil {
		p.Ledger.Undo(0)
	}
	if single { // with two budgets a pod the order of the pods counts
		v[Violations] = breaks
	}
	if !s.byPriority {
		v[Start] = math.MinInt64 // a victim of a higher priority replaces the start
	}
	return v
}
