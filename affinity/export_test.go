package affinity

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// What the tests of this package read beside its exported identifiers.
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
	Reasons = texts
)

func (e *NodeEvaluator) Check(n *v1.Node) resources.Verdict { return e.check(n) }
func (e *NodeEvaluator) Reads() []string                    { return e.reads() }

func (e *NodeEvaluator) Explain(n *v1.Node) NodeExplanation { return e.explain(n) }

func (e *NodeEvaluator) RequiredErr() error { return e.required.affinity.err }

func (e *PodEvaluator) CountInto(s *State, c Cluster, terms func(id int32, rep *v1.Pod) *Terms) {
	e.countInto(s, c, terms)
}

// Terms in one word, and their number.
func (t *Terms) Which(p *v1.Pod, namespaceLabels map[string]string) uint64 {
	if w := t.AppendWhich(nil, p, namespaceLabels); len(w) > 0 {
		return w[0]
	}
	return 0
}

func (t *Terms) Len() int { return t.size() }

// SelfAll is that of the evaluator, with the namespaces of the cluster.
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
