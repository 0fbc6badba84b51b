package affinity

import (
	v1 "k8s.io/api/core/v1"
)

// Effect is how one running pod changes the counts of a [State], on whatever node the pod runs. An Effect depends on the
// incoming pod and the running pod, not on the counts: callers may keep an Effect and apply it again as long as the
// cluster's namespaces do not change. A nil or empty Effect changes nothing.
type Effect []cell // one for each topology key

// cell is the change that one pod makes to the counts of its domain.
type cell struct {
	key                      string
	affinity, anti, existing int32
	score                    int64
	marks                    int32 // number of contributions to the score; contributions of 0 count too
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

// effect writes the effect of a pod into e and reuses e's memory.
func (s *State) effect(e *Effect, pod *v1.Pod) {
	*e = (*e)[:0]
	s.labelEffect(e, pod)
	s.termEffect(e, compileTerms(pod))
}

// LabelEffect returns the effect of a running pod's namespace and labels: the incoming pod's terms may match the running
// pod. Running pods that are equal in namespace and labels have the same LabelEffect. The result is nil when no term
// matches the pod. The pod must not be nil.
func (s *State) LabelEffect(pod *v1.Pod) Effect {
	var e Effect
	s.labelEffect(&e, pod)
	return e
}

// TermEffect returns the effect of a running pod's own terms, which may match the incoming pod. Running pods that are equal
// in namespace and terms have the same TermEffect. The result is nil when no term matches. The pod must not be nil. id is
// the term set of the pod; the memo keeps the compiled terms under this id. With a nil memo TermEffect compiles the terms
// and does not use id.
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
	if s.evaluator.err != nil { // CompilePods returned an error: every node is rejected and nothing is counted
		return
	}
	if own.excludes(s.pairs) {
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

// Apply counts the effect n times on slot i: n pods came, or -n pods left. The counts are then equal to those of a fresh
// Count (rule A13.2). Apply counts nothing on a free slot and for topology keys that the node lacks. It takes 5 to 20 ns
// and allocates only for the first count of a topology key.
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
