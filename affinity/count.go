package affinity

import (
	"slices"

	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/view"
)

func (e *podEvaluator) Count(cluster Cluster) State { return e.CountWith(cluster, nil) }

// CountWith is Count with a memo that keeps the compiled terms of running pods. It does not use the memo when the cluster
// has no term sets. A nil memo keeps nothing.
func (e *podEvaluator) CountWith(cluster Cluster, m *engine.Memo) State {
	return e.CountIn(cluster, m, nil)
}

// CountIn is CountWith with counts in a memory, to which Release gives them back.
func (e *podEvaluator) CountIn(cluster Cluster, m *engine.Memo, counts *engine.Memory) State {
	return e.count(cluster, memoOf(m), counts)
}

func (e *podEvaluator) count(cluster Cluster, m *memo, counts *engine.Memory) *state {
	s := &state{evaluator: e, cluster: cluster}
	if e.err != nil {
		return s
	}
	s.bind()
	podSets, hasPodSets := cluster.(view.PodSets)
	if hasPodSets {
		s.countSets(podSets, counts)
	}
	termSets, hasTermSets := cluster.(view.TermSets)
	if hasTermSets {
		s.countTermSets(termSets, m, counts)
	}
	byLabels := !hasPodSets && len(s.affinity)+len(s.anti)+len(s.preferred)+len(s.preferredAnti) > 0
	if byLabels || !hasTermSets {
		s.countPods(byLabels, !hasTermSets)
	}
	return s
}

// Release gives the counts to a memory. The state is not used afterwards.
func (s *state) Release(m *engine.Memory) {
	for k := range s.columns {
		c := &s.columns[k]
		for _, list := range []*[]int32{&c.affinity, &c.anti, &c.existing} {
			m.Keep(*list)
			*list = nil
		}
	}
}

// bind resolves the namespaces of the pod's terms and makes the columns of the required terms.
func (s *state) bind() {
	e := s.evaluator
	s.pairs = pairsOf(e.pod.Labels)
	if len(e.affinity)+len(e.anti)+len(e.preferred)+len(e.preferredAnti) == 0 {
		return
	}
	namespaces, names := s.cluster.Namespaces(), selectsNames(e.release)
	s.affinity = bindAll(e.affinity, namespaces, names)
	s.anti = bindAll(e.anti, namespaces, names)
	s.preferred = bindAll(e.preferred, namespaces, names)
	s.preferredAnti = bindAll(e.preferredAnti, namespaces, names)
	s.self = allMatch(s.affinity, e.pod)
	for i := range s.affinity {
		if k := s.columnIndex(s.affinity[i].key); !slices.Contains(s.affinityCols, k) {
			s.affinityCols = append(s.affinityCols, k)
		}
	}
	for i := range s.anti {
		if k := s.columnIndex(s.anti[i].key); !slices.Contains(s.antiCols, k) {
			s.antiCols = append(s.antiCols, k)
		}
	}
}

func (s *state) countPods(byLabels, byTerms bool) {
	e := &s.scratch
	for i := range s.cluster.Len() {
		if s.cluster.Node(i) == nil {
			continue
		}
		for pod := range s.cluster.Pods(i) {
			*e = (*e)[:0]
			if byLabels {
				s.labelEffect(e, pod)
			}
			if byTerms {
				s.termEffect(e, compileTerms(pod))
			}
			s.apply(*e, i, 1)
		}
	}
}

func (s *state) countTermSets(index view.TermSets, m *memo, memory *engine.Memory) {
	e := &s.scratch
	for id := range int32(index.TermSets()) {
		rep, nodes, counts := index.TermSet(id)
		if len(nodes) == 0 {
			continue
		}
		*e = (*e)[:0]
		s.termEffect(e, m.terms(id, rep))
		s.applyAll(*e, nodes, counts, memory)
	}
}

func (s *state) applyAll(e effect, nodes, counts []int32, memory *engine.Memory) {
	for k := range e {
		c := &e[k]
		col := s.column(c.key)
		if memory != nil {
			col.prepare(c, memory)
		}
		for j, i := range nodes {
			if d := col.domain(int(i)); d >= 0 {
				s.count(col, c, d, counts[j])
			}
		}
	}
}

// countSets visits each pod set that can match one of the pod's terms once. A pod counts for required affinity only when it
// matches every term, so it is enough to visit the sets of one term.
func (s *state) countSets(index view.PodSets, memory *engine.Memory) {
	var ids []int32
	for k, list := range [...][]bound{s.affinity, s.anti, s.preferred, s.preferredAnti} {
		for i := range list {
			ids = list[i].appendSets(ids, index)
			if k == 0 {
				break
			}
		}
	}
	slices.Sort(ids)
	e := &s.scratch
	for _, id := range slices.Compact(ids) {
		rep, nodes, counts := index.PodSet(id)
		*e = (*e)[:0]
		s.labelEffect(e, rep)
		s.applyAll(*e, nodes, counts, memory)
	}
}

// manyNamespaces is the number of namespaces above which one list of the sets of all namespaces is read instead of one list
// for each.
const manyNamespaces = 16

// appendSets appends the sets that the term may match, and perhaps others. It finds them by the label pair that fewest sets
// have.
func (b *bound) appendSets(ids []int32, index view.PodSets) []int32 {
	key, values, ok := view.Narrowest(b.selector)
	if !ok { // nil labelSelector: matches no pod
		return ids
	}
	if key == "" {
		values = []string{""}
	}
	yield := func(id int32) { ids = append(ids, id) }
	for _, value := range values {
		if b.all || len(b.names) > manyNamespaces {
			index.PodSets("", key, value, yield)
			continue
		}
		for _, namespace := range b.names {
			index.PodSets(namespace, key, value, yield)
		}
	}
	return ids
}
