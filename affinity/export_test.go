package affinity

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/view"
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
	Reasons          = reasonTexts
	CompileFullNodes = compileNode
)

// FullNodes is the evaluator that CompileNode returns.
type FullNodes = nodeEvaluator

// WouldHelp are the hints.
func (o NodeOptions) WouldHelp(pod *v1.Pod, old, new any) (bool, error) {
	return o.wouldHelp(pod, old, new)
}
func (o PodOptions) WouldHelp(pod *v1.Pod, old, new any) (bool, error) {
	return o.wouldHelp(pod, old, new)
}

func (e *nodeEvaluator) Check(n *v1.Node) resources.Verdict { return e.check(n) }
func (e *nodeEvaluator) Reads() []string                    { return e.reads() }

func (e *nodeEvaluator) Explain(n *v1.Node) []string { return e.explain(n) }

func (e *nodeEvaluator) RequiredErr() error { return e.required.err }

func (e *podEvaluator) SelfAll(namespaceLabels map[string]string, known bool) bool {
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
func (s *state) SelfAll() bool { return s.self }

// NormalizeAll normalizes the raw scores of the feasible nodes in place.
func (s *state) NormalizeAll(raw []int64) { normalizeAll(raw, s.Normalize) }

// NormalizeAll normalizes the raw scores of the feasible nodes in place.
func (s *nodeState) NormalizeAll(raw []int64) { normalizeAll(raw, s.Normalize) }

func normalizeAll(raw []int64, normalize func(raw, lo, hi int64) int64) {
	if len(raw) == 0 {
		return
	}
	lo, hi := slices.Min(raw), slices.Max(raw)
	for i := range raw {
		raw[i] = normalize(raw[i], lo, hi)
	}
}

// Full and FullNode are what Count and On return, with the methods of this file.
type (
	Full          = state
	FullNode      = nodeState
	FullEvaluator = podEvaluator
)

// Counted is Count.
func (e *podEvaluator) Counted(c Cluster) *state { return e.count(c, nil, nil) }

// CountedWith is CountWith.
func (e *podEvaluator) CountedWith(c Cluster, m *engine.Memo) *state {
	return e.count(c, memoOf(m), nil)
}

// Onto is On.
func (e *nodeEvaluator) Onto(nodes view.Nodes) *nodeState { return e.On(nodes).(*nodeState) }

// Effect joins the effects of labels and terms.
func (s *state) Effect(pod *v1.Pod) effect {
	var e effect
	s.effect(&e, pod)
	return e
}

// Apply counts an effect.
func (s *state) Apply(e effect, i int, n int32) { s.apply(e, i, n) }

// KeysOf returns the topology keys of a state, and for each key whether every domain has one node.
func KeysOf(s *state) (keys []string, single []bool) {
	for k, one := range s.Counts().Keys {
		keys, single = append(keys, k), append(single, one)
	}
	return keys, single
}

// CompileFull is CompilePods.
func CompileFull(pod *v1.Pod, o PodOptions) (*podEvaluator, error) {
	e, err := CompilePods(pod, o)
	return e.(*podEvaluator), err
}

// ApplyTrial counts an effect in a trial.
func ApplyTrial(t Trial, e effect, i int, n int32) { t.(*trial).apply(e, i, n) }
