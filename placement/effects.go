package placement

import (
	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/spread"
)

// effects remembers what a pod of each pod set and term set does to the states of one shape. Most do nothing: a shape that
// follows the change log passes over their events by one look at a small array.
type effects struct {
	sets, termsets []int32 // by id: unasked, nothing, or the place in the list below, from 1
	ofSets         []setEffect
	ofTerms        []affinity.Effect
}

const (
	unasked int32 = 0
	nothing int32 = -1
)

type setEffect struct {
	hard, soft spread.Effect
	pods       affinity.Effect
}

// none reports whether an event is known to do nothing.
func (x *effects) none(e *cluster.Event) bool {
	return int(e.Set) < len(x.sets) && x.sets[e.Set] == nothing &&
		(e.Terms < 0 || int(e.Terms) < len(x.termsets) && x.termsets[e.Terms] == nothing)
}

// set returns what pods of a pod set do, nil when that is nothing.
func (x *effects) set(s *shape, id int32) *setEffect {
	at := remembered(&x.sets, id)
	if *at == unasked {
		*at = nothing
		rep, _, _ := s.reuse.log.PodSet(id)
		var e setEffect
		if s.hard != nil {
			e.hard = s.hardE.Effect(rep)
		}
		if s.soft != nil {
			e.soft = s.softE.Effect(rep)
		}
		if s.pods != nil {
			e.pods = s.pods.LabelEffect(rep)
		}
		if e.hard != 0 || e.soft != 0 || !e.pods.Empty() {
			x.ofSets = append(x.ofSets, e)
			*at = int32(len(x.ofSets))
		}
	}
	if *at == nothing {
		return nil
	}
	return &x.ofSets[*at-1]
}

// terms returns what the terms of pods of a term set do, nil when that is nothing.
func (x *effects) terms(s *shape, id int32) *affinity.Effect {
	at := remembered(&x.termsets, id)
	if *at == unasked {
		*at = nothing
		// pods that a new term set matches do not share the shape any more
		if s.pods != nil && (!s.shared || s.termsets[id]) {
			rep, _, _ := s.reuse.log.TermSet(id)
			if e := s.pods.TermEffect(s.reuse.terms.Terms(id, rep)); !e.Empty() {
				x.ofTerms = append(x.ofTerms, e)
				*at = int32(len(x.ofTerms))
			}
		}
	}
	if *at == nothing {
		return nil
	}
	return &x.ofTerms[*at-1]
}

func remembered(list *[]int32, id int32) *int32 {
	for int(id) >= len(*list) {
		*list = append(*list, unasked)
	}
	return &(*list)[id]
}
