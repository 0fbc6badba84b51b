package affinity

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/internal/view"
)

// memo is what an [engine.Memo] keeps. A nil memo keeps nothing.
type memo struct {
	entries []memoEntry // by term set
	which   []uint64
}

type memoEntry struct {
	rep   *v1.Pod
	terms *terms
}

// remembered is the number of term sets that a memo keeps. Sets with larger ids are compiled at each use, so that a wrong
// id cannot take much memory.
const remembered = 1 << 20

// memoOf returns what a Memo keeps; nil for a nil Memo.
func memoOf(m *engine.Memo) *memo { return engine.KeptIn[memo](m) }

// terms returns the compiled terms of rep, which represents the term set id.
func (m *memo) terms(id int32, rep *v1.Pod) *terms {
	if m == nil || id < 0 || id >= remembered {
		return compileTerms(rep)
	}
	if int(id) >= len(m.entries) {
		m.entries = append(m.entries, make([]memoEntry, int(id)+1-len(m.entries))...)
	}
	e := &m.entries[id]
	if e.rep != rep {
		*e = memoEntry{rep, compileTerms(rep)}
	}
	return e.terms
}

// AppendKey appends everything that the counts of a [State] depend on, except the nodes and the running pods (rule A13.5):
// the terms of the pod, its namespace where a term has no other, whether the pod matches its own required affinity terms, and which terms of
// running pods match the pod. Pods whose options and keys are equal have the same State. AppendKey also appends to matched
// the term sets that have such a term, in ascending order. On a cluster without term sets the key does not contain the
// terms of running pods. A nil memo keeps nothing. O(terms of the pod and of all term sets).
func (e *podEvaluator) AppendKey(dst []byte, matched []int32, cluster Cluster, kept *engine.Memo) ([]byte, []int32) {
	m := memoOf(kept)
	labels, known := labelsOf(e.pod.Namespace, cluster)
	own := ""
	if e.namesNone() {
		own = e.pod.Namespace
	}
	dst = key.PodTerms(key.Text(dst, own), e.pod)
	dst = key.Flag(dst, e.matchesItself(labels, known))
	sets, ok := cluster.(view.TermSets)
	if !ok {
		return dst, matched
	}
	if m == nil {
		m = &memo{}
	}
	pairs := pairsOf(e.pod.Labels)
	for id := range int32(sets.TermSets()) {
		rep, nodes, _ := sets.TermSet(id)
		if len(nodes) == 0 {
			continue
		}
		there := m.terms(id, rep)
		if there.excludes(pairs) {
			continue
		}
		m.which = there.appendWhich(m.which[:0], e.pod, labels)
		some := false
		for at, w := range m.which {
			if w != 0 {
				dst = key.Int(key.Len(key.Len(dst, int(id)+1), at), int64(w))
				some = true
			}
		}
		if some {
			matched = append(matched, id)
		}
	}
	return key.Len(dst, 0), matched
}

// Meets reports whether a term of a term set matches the pod. No term of an id that is not in use does.
func (e *podEvaluator) Meets(id int32, cluster Cluster, kept *engine.Memo) bool {
	sets, ok := cluster.(view.TermSets)
	if !ok || id < 0 || int(id) >= sets.TermSets() {
		return false
	}
	rep, _, _ := sets.TermSet(id)
	if rep == nil {
		return false
	}
	labels, _ := labelsOf(e.pod.Namespace, cluster)
	which := memoOf(kept).terms(id, rep).appendWhich(nil, e.pod, labels)
	return slices.ContainsFunc(which, func(word uint64) bool { return word != 0 })
}

// namesNone reports whether a term of the pod names no namespaces, so that it is about the pod's own.
func (e *podEvaluator) namesNone() bool {
	for _, list := range [...][]term{e.affinity, e.anti, e.preferred, e.preferredAnti} {
		for k := range list {
			if list[k].own {
				return true
			}
		}
	}
	return false
}

// matchesItself reports whether the pod matches all of its own required affinity terms; then the pod may be the first of
// its group. namespaceLabels are the labels of the pod's namespace; known is true when the cluster has the namespace.
// matchesItself is false for a pod without required affinity terms.
func (e *podEvaluator) matchesItself(namespaceLabels map[string]string, known bool) bool {
	if len(e.affinity) == 0 {
		return false
	}
	own := func(yield func(string, map[string]string) bool) {
		if known {
			yield(e.pod.Namespace, namespaceLabels)
		}
	}
	return allMatch(bindAll(e.affinity, own, selectsNames(e.release)), e.pod)
}
