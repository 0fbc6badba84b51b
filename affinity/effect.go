package affinity

import (
	v1 "k8s.io/api/core/v1"
)

// Effect is what one running pod does to the counts of a State, on whatever node the pod runs. An Effect depends on the
// incoming pod and the running pod and not on the counts: callers may keep an Effect and apply it again while the
// cluster's namespaces do not change. nil and an empty Effect do nothing.
type Effect []cell // one for each topology key

// cell is what one pod adds to the counts of the domain it runs in.
type cell struct {
	key                      string
	affinity, anti, existing int32
	score                    int64
	marks                    int32 // contributions to the score, those of 0 too
}

func (e *Effect) at(key string) *cell {
	for i := range *e {
		if (*e)[i].key == key {
			return &(*e)[i]
		}
	}
	*e = append(*e, cell{key: key})
	return &(*e)[len(*e)-1]
}

func (e *Effect) addScore(key string, weight int64) {
	c := e.at(key)
	c.score += weight
	c.marks++
}

// effect writes the effect of a pod into e, whose memory it reuses.
func (s *State) effect(e *Effect, pod *v1.Pod) {
	*e = (*e)[:0]
	s.labelEffect(e, pod)
	s.termEffect(e, compileTerms(pod))
}

// LabelEffect returns what a running pod does by its namespace and labels: the terms of the incoming pod may match the
// running pod. Running pods that are equal in namespace and labels have the same LabelEffect. The result is nil for a pod
// that no term matches. The pod must not be nil.
func (s *State) LabelEffect(pod *v1.Pod) Effect {
	var e Effect
	s.labelEffect(&e, pod)
	return e
}

// TermEffect returns what a running pod does by its own terms: they may match the incoming pod. Running pods that are equal
// in namespace and terms have the same TermEffect. The result is nil when no term matches. The pod must not be nil. id is
// the term set of the pod, under which the memo keeps the compiled terms; with a nil memo TermEffect compiles the terms and
// does not use id.
func (s *State) TermEffect(m *Memo, id int32, pod *v1.Pod) Effect {
	var e Effect
	s.termEffect(&e, m.terms(id, pod))
	return e
}

func (s *State) labelEffect(e *Effect, pod *v1.Pod) {
	if allMatch(s.affinity, pod) {
		for i := range s.affinity {
			e.at(s.affinity[i].key).affinity++
		}
	}
	for i := range s.anti {
		if s.anti[i].matches(pod) {
			e.at(s.anti[i].key).anti++
		}
	}
	for i := range s.preferred {
		if t := &s.preferred[i]; t.matches(pod) {
			e.addScore(t.key, t.weight)
		}
	}
	for i := range s.preferredAnti {
		if t := &s.preferredAnti[i]; t.matches(pod) {
			e.addScore(t.key, -t.weight)
		}
	}
}

func (s *State) termEffect(e *Effect, own *terms) {
	if s.evaluator.err != nil { // rejected as a whole: nothing is counted
		return
	}
	if own == nil || own.pairs&s.pairs == 0 && own.pairs != ^uint64(0) {
		return
	}
	pod := s.evaluator.pod
	for i := range own.anti {
		if t := &own.anti[i]; t.matchesIn(pod, s.namespaceLabels) {
			e.at(t.key).existing++
		}
	}
	if !s.evaluator.scores {
		return
	}
	if hard := s.evaluator.hardWeight; hard > 0 {
		for i := range own.affinity {
			if t := &own.affinity[i]; t.matchesIn(pod, s.namespaceLabels) {
				e.addScore(t.key, hard)
			}
		}
	}
	for i := range own.preferred {
		if t := &own.preferred[i]; t.matchesIn(pod, s.namespaceLabels) {
			e.addScore(t.key, t.weight)
		}
	}
	for i := range own.preferredAnti {
		if t := &own.preferredAnti[i]; t.matchesIn(pod, s.namespaceLabels) {
			e.addScore(t.key, -t.weight)
		}
	}
}

// Apply counts the effect n times on slot i: n pods came, or -n pods left. The counts are then those of a fresh Count. Apply
// counts nothing on a slot without a node or without the topology keys. It takes 5 to 20 ns and allocates only for the
// first count of a topology key.
func (s *State) Apply(effect Effect, i int, n int32) {
	for k := range effect {
		c := &effect[k]
		col := s.column(c.key)
		if d := col.domain(i); d >= 0 {
			s.count(col, c, d, n)
		}
	}
}

func (s *State) count(col *column, c *cell, domain, n int32) {
	if c.affinity != 0 {
		s.affinityCells += col.add(&col.affinity, domain, c.affinity*n)
	}
	if c.anti != 0 {
		col.add(&col.anti, domain, c.anti*n)
	}
	if c.existing != 0 {
		s.existingCells += col.add(&col.existing, domain, c.existing*n)
	}
	if c.marks != 0 {
		col.addScore(domain, c.score*int64(n))
		s.marks += int64(c.marks) * int64(n)
	}
}
