package reuse

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement/internal/hooks"
)

// fail keeps the answer, which has no node, for later pods like the pod that is asked about, until the log has another event. The first such pod
// gets no VerdictKey: most pods never come back.
func (s *podKind) fail(answer *Answer) {
	key := s.verdictKey()
	if key.Pods == "" {
		return
	}
	failures := s.engine.failures
	if len(failures) >= maxKinds {
		clear(failures)
	}
	answer.Kept = true
	again := *answer
	again.VerdictKey = key
	failures[key.Pods] = &again
	if _, again := s.engine.kinds[key.Pods]; again {
		answer.VerdictKey = key
	}
}

// rejected counts the first rejections by the pod's own predicates, group by group. It reports false when the reasons of a verdict differ from node
// to node.
func (s *podKind) rejected(groups []candidate, ps filter.Predicates) (*filter.Histogram, bool) {
	h := &filter.Histogram{}
	add := func(r filter.Rejection, slot, n int32) bool {
		if d, ok := ps[r.Predicate].(filter.Detailer); n > 0 && ok && d.Partial(r.Verdict) {
			return false
		}
		h.Add(ps, r, int(slot), int(n))
		return true
	}
	for g := range s.layout.list {
		x := &s.layout.list[g]
		if v := s.verdict(x); v.Verdict != 0 {
			v.Predicate = uint16(slices.Index(s.plugin, int(v.Predicate))) // its place in the kind's list
			if !add(v, x.member, x.size) {
				return nil, false
			}
			continue
		}
		for _, t := range x.rejects {
			if !add(filter.Rejection{Predicate: uint16(s.rowsAt), Verdict: t.verdict}, x.member, t.n) {
				return nil, false
			}
		}
	}
	for k := range groups {
		c := &groups[k]
		i := int(c.top.Slot)
		r := ps.First(i)
		if !add(r, c.top.Slot, c.count) || ps.Err(r, i) != nil {
			return nil, false
		}
	}
	return h, true
}

// predicatesOf returns a copy of the list, which changes for the next pod, with the predicates that states have for a pod.
func (s *podKind) predicatesOf(pod *v1.Pod) filter.Predicates {
	out := s.matching(pod)
	s.eachPerPod(func(at int, x hooks.PerPod) { out[at] = x.Of(pod) })
	return out
}

// matching returns a copy of the list in which the terms of pods that come match this pod, and not the one that the kind was made for.
func (s *podKind) matching(pod *v1.Pod) filter.Predicates {
	s.given = true
	out := slices.Clone(s.predicates)
	for at, place := range s.plugin {
		if x, ok := s.stateOf(s.engine.filters[place]).(hooks.Matching); ok && s.podKey != s.madeFor {
			out[at] = x.For(pod)
		}
	}
	return out
}

// eachPerPod yields the states that have predicates for a pod alone, with the places of the predicates in the list.
func (s *podKind) eachPerPod(yield func(at int, x hooks.PerPod)) {
	if !s.perPod {
		return
	}
	for at, place := range s.plugin {
		if x, ok := s.stateOf(s.engine.filters[place]).(hooks.PerPod); ok {
			yield(at, x)
		}
	}
}
