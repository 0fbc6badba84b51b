package affinity

import (
	v1 "k8s.io/api/core/v1"
)

// Effect is what one running pod does to the counts of a State, wherever it runs. It depends on the incoming pod and on the
// running pod, not on the counts: it may be kept and applied again as long as the cluster's namespaces do not change. The
// zero value does nothing.
type Effect struct {
	cells []cell // one for each topology key
}

// cell is what one pod adds to the counts of the domain it runs in.
type cell struct {
	key                      string
	affinity, anti, existing int32
	score                    int64
	marks                    int32 // contributions to the score, those of 0 too
}

// Empty reports whether the effect changes nothing.
func (e Effect) Empty() bool { return len(e.cells) == 0 }

func (e *Effect) at(key string) *cell {
	for i := range e.cells {
		if e.cells[i].key == key {
			return &e.cells[i]
		}
	}
	e.cells = append(e.cells, cell{key: key})
	return &e.cells[len(e.cells)-1]
}

func (e *Effect) addScore(key string, weight int64) {
	c := e.at(key)
	c.score += weight
	c.marks++
}

// Effect returns what a running pod does to the counts: LabelEffect and TermEffect in one.
func (s *State) Effect(pod *v1.Pod) Effect {
	var e Effect
	s.effect(&e, pod)
	return e
}

// effect writes the effect of a pod into e, whose memory it reuses.
func (s *State) effect(e *Effect, pod *v1.Pod) {
	e.cells = e.cells[:0]
	s.labelEffect(e, pod)
	s.termEffect(e, CompileTerms(pod))
}

// LabelEffect returns what a running pod does by its namespace and labels: it may match the incoming pod's terms. Pods
// equal in both have the same.
func (s *State) LabelEffect(pod *v1.Pod) Effect {
	var e Effect
	s.labelEffect(&e, pod)
	return e
}

// TermEffect returns what a running pod does by its own terms: they may match the incoming pod. Pods equal in namespace and
// terms have the same.
func (s *State) TermEffect(terms *Terms) Effect {
	var e Effect
	s.termEffect(&e, terms)
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

func (s *State) termEffect(e *Effect, terms *Terms) {
	if s.evaluator.err != nil { // rejected as a whole: nothing is counted
		return
	}
	if terms == nil || terms.pairs&s.pairs == 0 && terms.pairs != ^uint64(0) {
		return
	}
	pod := s.evaluator.pod
	for i := range terms.anti {
		if t := &terms.anti[i]; t.matchesIn(pod, s.namespaceLabels) {
			e.at(t.key).existing++
		}
	}
	if !s.evaluator.scores {
		return
	}
	if hard := s.evaluator.hardWeight; hard > 0 {
		for i := range terms.affinity {
			if t := &terms.affinity[i]; t.matchesIn(pod, s.namespaceLabels) {
				e.addScore(t.key, hard)
			}
		}
	}
	for i := range terms.preferred {
		if t := &terms.preferred[i]; t.matchesIn(pod, s.namespaceLabels) {
			e.addScore(t.key, t.weight)
		}
	}
	for i := range terms.preferredAnti {
		if t := &terms.preferredAnti[i]; t.matchesIn(pod, s.namespaceLabels) {
			e.addScore(t.key, -t.weight)
		}
	}
}

// Apply counts the pods of an effect on slot i n times: n pods came, or -n left. It takes 5 to 20 ns and allocates only
// for the first count of a topology key. The counts are then those of a fresh Count. A slot without a node or without the
// topology keys is not counted.
func (s *State) Apply(effect Effect, i int, n int32) {
	for k := range effect.cells {
		c := &effect.cells[k]
		col := s.column(c.key)
		if d := col.domain(i); d >= 0 {
			s.count(col, c, d, n)
		}
	}
}

// Add counts a running pod that came to slot i: Apply(Effect(pod), i, 1).
func (s *State) Add(pod *v1.Pod, i int) {
	s.effect(&s.scratch, pod)
	s.Apply(s.scratch, i, 1)
}

// Remove takes back a running pod that left slot i: Apply(Effect(pod), i, -1).
func (s *State) Remove(pod *v1.Pod, i int) {
	s.effect(&s.scratch, pod)
	s.Apply(s.scratch, i, -1)
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
