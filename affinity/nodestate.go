package affinity

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// Nodes is what node affinity needs to know of a cluster: nodes by slot, nil for a free slot.
//
// A cluster that also has
//
//	Classes(reads []string) (ids, reps []int32, ok bool)
//
// (per slot a class of nodes that are equal in all that reads names, -1 for a free slot, and one slot of each class) has
// each class evaluated once. The answers are the same without it.
type Nodes interface {
	Len() int
	Node(i int) *v1.Node
}

type classifier interface {
	Classes(reads []string) (ids, reps []int32, ok bool)
}

// NodeState is a NodeEvaluator applied to a cluster. It answers for the nodes as they were at Count; after a change of a
// node's labels or name it must be counted anew. It is safe for concurrent reads.
type NodeState struct {
	evaluator *NodeEvaluator
	nodes     Nodes
	ids       []int32 // class of a slot; nil without classes
	classes   []nodeAnswer
}

type nodeAnswer struct {
	verdict resources.Verdict
	raw     int64
}

// Count applies the evaluator to a cluster: one evaluation for each class of equal nodes, or none at all when the cluster
// offers no classes and Check and Raw evaluate the node they are asked about.
func (e *NodeEvaluator) Count(nodes Nodes) *NodeState {
	s := &NodeState{evaluator: e, nodes: nodes}
	c, ok := nodes.(classifier)
	if !ok {
		return s
	}
	ids, reps, ok := c.Classes(e.Reads(nil))
	if !ok {
		return s
	}
	s.ids = ids
	s.classes = make([]nodeAnswer, len(reps))
	for class, rep := range reps {
		if n := nodes.Node(int(rep)); n != nil {
			s.classes[class] = nodeAnswer{e.Check(n), e.Raw(n)}
		}
	}
	return s
}

// Check returns the filter's verdict on slot i: 0, NodeEnforced, NodeMismatch or TermsConflict, and NodeMismatch for a
// free slot. It allocates nothing.
func (s *NodeState) Check(i int) resources.Verdict {
	if s.ids != nil {
		if class := s.ids[i]; class >= 0 {
			return s.classes[class].verdict
		}
		return NodeMismatch
	}
	if n := s.nodes.Node(i); n != nil {
		return s.evaluator.Check(n)
	}
	return NodeMismatch
}

// Raw returns the raw score of slot i: the sum of the matching preferred weights, 0 for a free slot. It allocates nothing.
func (s *NodeState) Raw(i int) int64 {
	if s.ids != nil {
		if class := s.ids[i]; class >= 0 {
			return s.classes[class].raw
		}
		return 0
	}
	if n := s.nodes.Node(i); n != nil {
		return s.evaluator.Raw(n)
	}
	return 0
}

// Normalize brings a raw score to 0..100: 100*raw/hi, truncated, hi being the largest raw score of the feasible nodes;
// unchanged when hi is not positive. lo is not used. Negative weights, which the API server does not admit, give negative
// results, which v1.36.3 treats as an error of the attempt.
func (s *NodeState) Normalize(raw, lo, hi int64) int64 {
	if hi <= 0 {
		return raw
	}
	return 100 * raw / hi
}

// NormalizeAll normalizes the raw scores of the feasible nodes in place.
func (s *NodeState) NormalizeAll(raw []int64) { normalizeAll(raw, s.Normalize) }

func normalizeAll(raw []int64, normalize func(raw, lo, hi int64) int64) {
	if len(raw) == 0 {
		return
	}
	lo, hi := raw[0], raw[0]
	for _, r := range raw[1:] {
		lo, hi = min(lo, r), max(hi, r)
	}
	for i := range raw {
		raw[i] = normalize(raw[i], lo, hi)
	}
}

// AppendSignature appends the three integers that determine verdict and raw score of slot i. They change only when the
// node does.
func (s *NodeState) AppendSignature(dst []int32, i int) []int32 {
	raw := s.Raw(i)
	return append(dst, int32(s.Check(i)), int32(raw), int32(raw>>32))
}

// Dynamic reports whether verdict or raw score of a slot can change by events on other slots: never.
func (s *NodeState) Dynamic() bool { return false }

// Reasons returns v1.36.3's texts of a verdict.
func (s *NodeState) Reasons(verdict resources.Verdict) []string { return Reasons(verdict) }
