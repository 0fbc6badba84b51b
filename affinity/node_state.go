package affinity

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/resources"
)

// NodeState is the filter and score NodeAffinity for one pod and one cluster. It describes the nodes as they are at On:
// after a change of a node's labels or name, call On again. It is immutable and safe for concurrent use.
type NodeState interface {
	// Explain returns why node affinity rejects slot i: the pairs of spec.nodeSelector that the node lacks, then for each
	// required term, of the profile and of the pod, why the term does not match. Terms are numbered from 1. The result is empty
	// for a free slot and for a node that is allowed. The texts are the library's own. Explain allocates.
	Explain(i int) []string
	// Name returns "NodeAffinity".
	Name() string
	// Check returns the verdict on slot i (rule A3.6), always with [resources.Unresolvable]: 1 when the terms that the profile
	// adds do not match, 2 when nodeSelector or required node affinity do not match, 4 when [CompileNode] returned an error. A
	// free slot is rejected. It allocates nothing.
	Check(i int) resources.Verdict
	// Reasons returns v1.37.2's texts of a verdict, nil for 0.
	Reasons(v resources.Verdict) []string
	// Raw returns the raw score of slot i: the sum of the weights of the preferred terms that match. A free slot has 0. It
	// allocates nothing.
	Raw(i int) int64
	// Normalize returns the normalized score, 0 to 100 (rule A4.4): 100*raw/hi, truncated. hi is the largest raw score of the
	// feasible nodes; when hi is not positive Normalize returns raw. It does not use lo. Negative weights, which the API server
	// does not admit, give negative results; v1.37.2 then fails the attempt.
	Normalize(raw, lo, hi int64) int64
}

type nodeState struct {
	evaluator *nodeEvaluator
	nodes     view.Nodes
	classes   view.Classes[nodeAnswer]
}

type nodeAnswer struct {
	verdict resources.Verdict
	raw     int64
}

func (e *nodeEvaluator) On(nodes interface {
	Len() int
	Node(i int) *v1.Node
}) NodeState {
	return &nodeState{e, nodes, view.Classify(nodes, e.reads(), e.answer)}
}

func (e *nodeEvaluator) answer(node *v1.Node) nodeAnswer {
	return nodeAnswer{e.check(node), e.raw(node)}
}

func (s *nodeState) Name() string { return "NodeAffinity" }

func (s *nodeState) Check(i int) resources.Verdict {
	if a := s.classes.At(i); a != nil {
		return a.verdict
	}
	if n := s.nodes.Node(i); n != nil {
		return s.evaluator.check(n)
	}
	return nodeMismatch
}

func (s *nodeState) Reasons(v resources.Verdict) []string { return reasonTexts(v) }

func (s *nodeState) Raw(i int) int64 {
	if a := s.classes.At(i); a != nil {
		return a.raw
	}
	if n := s.nodes.Node(i); n != nil {
		return s.evaluator.raw(n)
	}
	return 0
}

func (s *nodeState) Normalize(raw, lo, hi int64) int64 {
	if hi <= 0 {
		return raw
	}
	return 100 * raw / hi
}

// Reads appends what Check and Raw read of a node, in the words of cluster.Snapshot.Classes. Nodes that are equal in it get
// equal answers.
func (s *nodeState) Reads(dst []string) []string { return append(dst, s.evaluator.reads()...) }
