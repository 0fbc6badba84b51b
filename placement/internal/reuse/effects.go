package reuse

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement/internal/hooks"
)

// effects remembers what a pod of each pod set and of each term set does to the states of one kind. Most pods do nothing; one
// read of a small array skips their events in the change log.
type effects struct {
	sets, terms []int32 // by id: 0 (not known yet), -1 (nothing), or the place in counters, from 1
	counters    [][]hooks.Counter
}

// none reports whether an event is known to do nothing.
func (x *effects) none(e *cluster.Event) bool {
	return int(e.Set) < len(x.sets) && x.sets[e.Set] == -1 && (e.Terms < 0 || int(e.Terms) < len(x.terms) && x.terms[e.Terms] == -1)
}

// ofSet returns what the pods of a pod set do to the states; nil: nothing.
func (x *effects) ofSet(s *podKind, id int32) []hooks.Counter {
	return x.of(&x.sets, id, s, s.engine.log.PodSet, func(c *counted, rep *v1.Pod) hooks.Counter { return c.state.OfSet(rep) })
}

// ofTerms returns what the terms of the pods of a term set do to the states; nil: nothing. A shared kind ignores a new term
// set that matches a pod: such a pod has another key and does not use the kind.
func (x *effects) ofTerms(s *podKind, id int32) []hooks.Counter {
	return x.of(&x.terms, id, s, s.engine.log.TermSet, func(c *counted, rep *v1.Pod) hooks.Counter {
		if s.shared && !c.compiled.Matched(id) {
			return nil
		}
		return c.state.OfTerms(id, rep)
	})
}

// of returns the counters of an id. It asks the states when the id is new.
func (x *effects) of(list *[]int32, id int32, s *podKind, set func(int32) (rep *v1.Pod, nodes, counts []int32), ask func(*counted, *v1.Pod) hooks.Counter) []hooks.Counter {
	for int(id) >= len(*list) {
		*list = append(*list, 0)
	}
	at := &(*list)[id]
	if *at == 0 {
		*at = -1
		rep, _, _ := set(id)
		var counters []hooks.Counter
		for k := range s.counted {
			if c := ask(&s.counted[k], rep); c != nil {
				counters = append(counters, c)
			}
		}
		if counters != nil {
			x.counters = append(x.counters, counters)
			*at = int32(len(x.counters))
		}
	}
	if *at < 0 {
		return nil
	}
	return x.counters[*at-1]
}
