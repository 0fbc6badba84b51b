package affinity

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// Unexported things that the external tests of this package read.
const (
	NodeEnforced         = nodeEnforced
	NodeMismatch         = nodeMismatch
	TermsConflict        = termsConflict
	PodAffinity          = podAffinityUnmet
	PodAntiAffinity      = podAntiAffinity
	ExistingAntiAffinity = existingAntiAffinity
	Unparsable           = unparsable
)

var (
	Reasons = reasonTexts
)

func (e *NodeEvaluator) Check(n *v1.Node) resources.Verdict { return e.check(n) }
func (e *NodeEvaluator) Reads() []string                    { return e.reads() }

func (e *NodeEvaluator) Explain(n *v1.Node) []string { return e.explain(n) }

func (e *NodeEvaluator) RequiredErr() error { return e.required.err }

func (e *PodEvaluator) SelfAll(namespaceLabels map[string]string, known bool) bool {
	return e.matchesItself(namespaceLabels, known)
}

type Terms = terms

var CompileTerms = compileTerms

// Terms and their number, in one word.
func (t *terms) Which(p *v1.Pod, namespaceLabels map[string]string) uint64 {
	if w := t.appendWhich(nil, p, namespaceLabels); len(w) > 0 {
		return w[0]
	}
	return 0
}

func (t *terms) AppendWhich(dst []uint64, p *v1.Pod, namespaceLabels map[string]string) []uint64 {
	return t.appendWhich(dst, p, namespaceLabels)
}

func (t *terms) Len() int {
	if t == nil {
		return 0
	}
	return len(t.anti) + len(t.affinity) + len(t.preferred) + len(t.preferredAnti)
}

// SelfAll is matchesItself of the evaluator with the namespaces of the cluster.
func (s *State) SelfAll() bool { return s.self }

// NormalizeAll normalizes the raw scores of the feasible nodes in place.
func (s *State) NormalizeAll(raw []int64) { normalizeAll(raw, s.Normalize) }

// NormalizeAll normalizes the raw scores of the feasible nodes in place.
func (s *NodeState) NormalizeAll(raw []int64) { normalizeAll(raw, s.Normalize) }

func normalizeAll(raw []int64, normalize func(raw, lo, hi int64) int64) {
	if len(raw) == 0 {
		return
	}
	lo, hi := slices.Min(raw), slices.Max(raw)
	for i := range raw {
		raw[i] = normalize(raw[i], lo, hi)
	}
}

// Effect joins LabelEffect and TermEffect.
func (s *State) Effect(pod *v1.Pod) Effect {
	var e Effect
	s.effect(&e, pod)
	return e
}

// Add counts a running pod that came to slot i.
func (s *State) Add(pod *v1.Pod, i int) { s.Apply(s.Effect(pod), i, 1) }

// Remove takes back a running pod that left slot i.
func (s *State) Remove(pod *v1.Pod, i int) { s.Apply(s.Effect(pod), i, -1) }

// KeysOf returns the topology keys of a state, and for each key whether every domain has one node.
func KeysOf(s *State) (keys []string, single []bool) {
	for k, one := range s.Counts().Keys {
		keys, single = append(keys, k), append(single, one)
	}
	return keys, single
}
