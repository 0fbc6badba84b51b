package reuse

import (
	"github.com/podberth/podberth/cluster"
)

// effects remembers what a pod of each pod set and of each term set does to the states of one kind. Most pods do nothing; one
// read of a small array skips their events in the change log.
type effects struct {
	sets, terms []int32 // by id: effectUnknown, noEffect, or the place in counters, from 1
	counters    [][]Counter
}

const (
	effectUnknown int32 = 0
	noEffect      int32 = -1
)

// none reports whether an event is known to do nothing.
func (x *effects) none(e *cluster.Event) bool {
	return int(e.Set) < len(x.sets) && x.sets[e.Set] == noEffect &&
		(e.Terms < 0 || int(e.Terms) < len(x.terms) && x.terms[e.Terms] == noEffect)
}

// ofSet returns what the pods of a pod set do to the states; nil: nothing.
func (x *effects) ofSet(s *podKind, id int32) []Counter {
	at := remembered(&x.sets, id)
	if *at == effectUnknown {
		rep, _, _ := s.engine.log.PodSet(id)
		x.learn(at, s, func(c *counted) Counter { return c.state.OfSet(rep) })
	}
	if *at == noEffect {
		return nil
	}
	return x.counters[*at-1]
}

// ofTerms returns what the terms of the pods of a term set do to the states; nil: nothing. A shared kind ignores a new term
// set that matches a pod: such a pod has another key and does not use the kind.
func (x *effects) ofTerms(s *podKind, id int32) []Counter {
	at := remembered(&x.terms, id)
	if *at == effectUnknown {
		rep, _, _ := s.engine.log.TermSet(id)
		x.learn(at, s, func(c *counted) Counter {
			if s.shared && !c.compiled.Matched(id) {
				return nil
			}
			return c.state.OfTerms(id, rep)
		})
	}
	if *at == noEffect {
		return nil
	}
	return x.counters[*at-1]
}

func (x *effects) learn(at *int32, s *podKind, ask func(*counted) Counter) {
	*at = noEffect
	var counters []Counter
	for k := range s.counted {
		if m := ask(&s.counted[k]); m != nil {
			counters = append(counters, m)
		}
	}
	if counters != nil {
		x.counters = append(x.counters, counters)
		*at = int32(len(x.counters))
	}
}

func remembered(list *[]int32, id int32) *int32 {
	for int(id) >= len(*list) {
		*list = append(*list, effectUnknown)
	}
	return &(*list)[id]
}
