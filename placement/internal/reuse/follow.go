package reuse

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement/internal/hooks"
)

// follow brings the kind to the version of the cluster, for a pod of the same key: the objects that an earlier pod names may be gone. It reports
// whether the kind can be used.
func (s *podKind) follow(pod *v1.Pod) bool {
	e := s.engine
	if s.pod = pod; !s.usable {
		return false
	}
	if !s.static.follow(e, s.pod) {
		s.rebuild()
		return s.usable
	}
	if !s.static.usable {
		s.usable = false
		return false
	}
	if s.prepared != s.static.prepared {
		s.assemble()
	}
	n := e.catchUp(&s.cursor)
	if s.rows != nil && !s.rows.follow(e) || !s.countPods(&n) {
		s.rebuild()
		return s.usable
	}
	if s.newKeys() { // a running pod brought a new topology key
		s.recounted = s.recounted[:0]
		e.divideNodes(s)
		return true
	}
	s.layout.follow(e, s)
	for _, i := range n.nodes() {
		s.exceptions.regroup(s, i)
	}
	for _, i := range s.recounted {
		s.exceptions.regroup(s, i)
	}
	s.recounted = s.recounted[:0]
	if s.shifts && s.exceptions.some() {
		s.shift(s.shifted, func(i int) { s.exceptions.regroup(s, int32(i)) })
	}
	return true
}

// countPods lets the states count the pods of the events. It reports false when the log does not reach back that far.
func (s *podKind) countPods(n *news) bool {
	events, known := n.events()
	some := s.exceptions.some()
	for i := range events {
		e := &events[i]
		if e.N == 0 { // no pods came or left
			continue
		}
		if some && s.exceptions.of[e.Node] >= 0 {
			s.exceptions.rank(s, e.Node)
		}
		if !s.effects.none(e) {
			s.apply(e)
		}
	}
	return known
}

// apply applies one event to the states.
func (s *podKind) apply(e *cluster.Event) {
	x := &s.effects
	bySet, byTerms := x.of(s, &x.sets, e.Set), []hooks.Counter(nil)
	if e.Terms >= 0 {
		byTerms = x.of(s, &x.terms, e.Terms)
	}
	for _, counters := range [2][]hooks.Counter{bySet, byTerms} {
		for _, count := range counters {
			count(int(e.Node), e.N)
		}
	}
	if bySet != nil || byTerms != nil {
		s.recounted = append(s.recounted, e.Node)
		s.engine.stateChanges++
		s.statesChanged = s.engine.stateChanges
	}
}

// shift yields the slots whose domains may have changed since the versions, by state, and writes the versions now. A nil yield
// asks for the versions alone.
func (s *podKind) shift(versions []uint64, yield func(slot int)) {
	for k := range s.counted {
		if x, ok := s.counted[k].state.(hooks.Shifting); ok {
			versions[k] = x.Shifted(versions[k], yield)
		}
	}
}

// newKeys reports whether a state counts by more topology keys than the layout has.
func (s *podKind) newKeys() bool {
	grown := false
	for k := range s.counted {
		if x := &s.counted[k]; x.keys != x.state.Keys() {
			x.keys, grown = x.state.Keys(), true
			s.engine.read(x.state)
		}
	}
	return grown
}

// read records what a state reads of nodes.
func (e *Engine) read(s hooks.State) {
	for _, x := range s.Reads(nil) {
		e.reads[x] = struct{}{}
	}
}

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

// of returns what the pods of a pod set, or the terms of the pods of a term set, do to the states; nil: nothing. list is that of the sets or of the
// terms.
func (x *effects) of(s *podKind, list *[]int32, id int32) []hooks.Counter {
	for int(id) >= len(*list) {
		*list = append(*list, 0)
	}
	switch known := (*list)[id]; {
	case known > 0:
		return x.counters[known-1]
	case known < 0:
		return nil
	}
	counters := x.learn(s, list, id)
	if list == &x.terms && s.heaps {
		s.part(id, counters != nil)
	}
	return counters
}

// learn asks the states. A kind without heaps ignores a new term set that matches a pod, and an idle state ignores a new pod set that counts: such a
// pod has another key and does not use the kind.
func (x *effects) learn(s *podKind, list *[]int32, id int32) (counters []hooks.Counter) {
	read, terms := s.engine.log.PodSet, list == &x.terms
	if terms {
		read = s.engine.log.TermSet
	}
	rep, _, _ := read(id)
	for k := range s.counted {
		var count hooks.Counter
		switch c := &s.counted[k]; {
		case c.idle && !terms:
		case !terms:
			count = c.state.OfSet(rep)
		case s.heaps || c.compiled.Matched(id):
			count = c.state.OfTerms(id, rep)
		}
		if count != nil {
			counters = append(counters, count)
		}
	}
	if (*list)[id] = -1; counters != nil {
		x.counters = append(x.counters, counters)
		(*list)[id] = int32(len(x.counters))
	}
	return counters
}
