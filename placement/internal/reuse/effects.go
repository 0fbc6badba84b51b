package reuse

import (
	"github.com/podberth/podberth/cluster"
)

// effects remembers what a pod of each pod set and term set does to the states of one shape. Most do nothing: a shape that
// follows the change log passes over their events by one look at a small array.
type effects struct {
	sets, terms []int32 // by id: unasked, nothing, or the place in moves, from 1
	moves       [][]Move
}

const (
	unasked int32 = 0
	nothing int32 = -1
)

// none reports whether an event is known to do nothing.
func (x *effects) none(e *cluster.Event) bool {
	return int(e.Set) < len(x.sets) && x.sets[e.Set] == nothing &&
		(e.Terms < 0 || int(e.Terms) < len(x.terms) && x.terms[e.Terms] == nothing)
}

// ofSet returns what pods of a pod set do, nil when that is nothing.
func (x *effects) ofSet(s *shape, id int32) []Move {
	at := remembered(&x.sets, id)
	if *at == unasked {
		rep, _, _ := s.engine.log.PodSet(id)
		x.learn(at, s, func(c *counted) Move { return c.state.OfSet(rep) })
	}
	if *at == nothing {
		return nil
	}
	return x.moves[*at-1]
}

// ofTerms returns what the terms of pods of a term set do, nil when that is nothing. Pods that a new term set matches do
// not share the shape any more: a shared shape passes over that set.
func (x *effects) ofTerms(s *shape, id int32) []Move {
	at := remembered(&x.terms, id)
	if *at == unasked {
		rep, _, _ := s.engine.log.TermSet(id)
		x.learn(at, s, func(c *counted) Move {
			if s.shared && !c.compiled.Matched(id) {
				return nil
			}
			return c.state.OfTerms(id, rep)
		})
	}
	if *at == nothing {
		return nil
	}
	return x.moves[*at-1]
}

func (x *effects) learn(at *int32, s *shape, ask func(*counted) Move) {
	*at = nothing
	var moves []Move
	for k := range s.counted {
		if m := ask(&s.counted[k]); m != nil {
			moves = append(moves, m)
		}
	}
	if moves != nil {
		x.moves = append(x.moves, moves)
		*at = int32(len(x.moves))
	}
}

func remembered(list *[]int32, id int32) *int32 {
	for int(id) >= len(*list) {
		*list = append(*list, unasked)
	}
	return &(*list)[id]
}
