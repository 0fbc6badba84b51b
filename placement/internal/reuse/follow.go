package reuse

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement/internal/hooks"
)

// use brings the kind up to date for a pod; nil when the kind cannot be used.
func (s *podKind) use(pod *v1.Pod) *podKind {
	s.pod = pod // of the same key: the objects that an earlier pod names may be gone
	if s.follow() {
		return s
	}
	return nil
}

// follow brings the kind to the version of the cluster and reports whether it can be used.
func (s *podKind) follow() bool {
	e := s.engine
	if !s.usable {
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
	if s.changes != s.static.cursor.changes {
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
	blocks, known := n.events()
	for _, events := range blocks {
		for i := range events {
			e := &events[i]
			if e.N == 0 { // no pods came or left
				continue
			}
			if s.exceptions.has(e.Node) {
				s.exceptions.rank(s, e.Node)
			}
			if !s.effects.none(e) {
				s.apply(e)
			}
		}
	}
	return known
}

// apply applies one event to the states.
func (s *podKind) apply(e *cluster.Event) {
	counters := s.effects.ofSet(s, e.Set)
	for _, m := range counters {
		m(int(e.Node), e.N)
	}
	moved := counters != nil
	if e.Terms >= 0 {
		counters = s.effects.ofTerms(s, e.Terms)
		for _, m := range counters {
			m(int(e.Node), e.N)
		}
		moved = moved || counters != nil
	}
	if moved {
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
