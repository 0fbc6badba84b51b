package affinity

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/engine"
)

// effect is how one running pod changes the counts of a [State], on whatever node the pod runs. An effect depends on the
// incoming pod and the running pod, not on the counts: it may be kept and applied again as long as the cluster's namespaces do not
// change. A nil or empty effect changes nothing.
type effect []cell // one for each topology key

// cell is the change that one pod makes to the counts of its domain.
type cell struct {
	key                      string
	affinity, anti, existing int32
	score                    int64
	marks                    int32 // number of contributions to the score; contributions of 0 count too
}

func (e *effect) at(key string) *cell {
	for i := range *e {
		if (*e)[i].key == key {
			return &(*e)[i]
		}
	}
	*e = append(*e, cell{key: key})
	return &(*e)[len(*e)-1]
}

func (e *effect) addScore(key string, weight int64) {
	c := e.at(key)
	c.score += weight
	c.marks++
}

// effect writes the effect of a pod into e and reuses e's memory.
func (s *state) effect(e *effect, pod *v1.Pod) {
	*e = (*e)[:0]
	s.labelEffect(e, pod)
	s.termEffect(e, compileTerms(pod))
}

func (s *state) Add(pod *v1.Pod, i int) { s.move(pod, i, 1) }

func (s *state) Remove(pod *v1.Pod, i int) { s.move(pod, i, -1) }

func (s *state) move(pod *v1.Pod, i int, n int32) {
	s.effect(&s.scratch, pod)
	s.apply(s.scratch, i, n)
}

// For returns the state of another pod whose options and key ([podEvaluator.AppendKey]) are equal: the counts are equal, and the terms of pods that
// come are matched with that pod. It shares the counts of s, and serves for checks and trials. An evaluator of other code is that of s.
func (s *state) For(e PodEvaluator) State {
	out := *s
	if own, ok := e.(*podEvaluator); ok {
		out.evaluator, out.pairs, out.scratch = own, pairsOf(own.pod.Labels), nil
	}
	return &out
}

// OfLabels is that of [engine.Moving].
func (s *state) OfLabels(pod *v1.Pod) engine.Move {
	var e effect
	s.labelEffect(&e, pod)
	return s.by(e)
}

// OfTerms is that of [engine.MovingTerms].
func (s *state) OfTerms(m *engine.Memo, id int32, pod *v1.Pod) engine.Move {
	var e effect
	s.termEffect(&e, memoOf(m).terms(id, pod))
	return s.by(e)
}

// by returns how an effect that is not empty moves the counts; nil for an empty effect.
func (s *state) by(e effect) engine.Move {
	if len(e) == 0 {
		return nil
	}
	return func(i int, n int32) { s.apply(e, i, n) }
}

func (s *state) labelEffect(e *effect, pod *v1.Pod) {
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

func (s *state) termEffect(e *effect, own *terms) {
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

// apply counts the effect n times on slot i: n pods came, or -n pods left. The counts are then equal to those of a fresh
// Count (rule A13.2). It counts nothing on a free slot and for topology keys that the node lacks. It takes 5 to 20 ns
// and allocates only for the first count of a topology key.
func (s *state) apply(e effect, i int, n int32) {
	for k := range e {
		c := &e[k]
		col := s.column(c.key)
		if d := col.domain(i); d >= 0 {
			s.count(col, c, d, n)
		}
	}
}

func (s *state) count(col *column, c *cell, domain, n int32) {
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
