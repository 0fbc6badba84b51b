package taints

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/resources"
)

// tainted is the verdict of TaintToleration. Preemption cannot help: removing pods does not remove a taint.
const tainted = 1 | resources.Unresolvable

// State is the filter and score TaintToleration for one pod and one cluster. It is immutable and safe for concurrent use.
// It describes the nodes as they are at On; pods that come and go do not matter. After a change of a node the State is out of date.
type State interface {
	// Name returns "TaintToleration".
	Name() string
	// Check returns the verdict on slot i: 0 when every taint with effect NoSchedule or NoExecute is tolerated, otherwise 1
	// with [resources.Unresolvable]. A free slot is rejected. No allocation.
	Check(i int) resources.Verdict
	// Reasons returns the text of a verdict, nil for 0.
	Reasons(v resources.Verdict) []string
	// Raw returns the raw score of slot i: the number of its PreferNoSchedule taints that are not tolerated. Fewer are better.
	// A free slot has 0. No allocation.
	Raw(i int) int64
	// Normalize turns a raw score into 0 to 100: 100 - 100*raw/hi with the quotient truncated, so that 1 of 3 gives 67. hi is
	// the largest raw score of the feasible nodes; when hi is 0 every node gets 100. lo is not used. The default profile gives
	// this score the weight 3 and never skips it.
	Normalize(raw, lo, hi int64) int64
	// Explain returns what became of each taint of slot i, in the order of the list; nil for a free slot. It allocates.
	Explain(i int) []Explanation
}

type state struct {
	evaluator *Evaluator
	nodes     view.Nodes
	classes   view.Classes[answer]
}

// answer is what the taints of a node mean.
type answer struct {
	verdict resources.Verdict
	raw     int64
}

// On applies the evaluator to the nodes of a cluster as TaintToleration. Node(i) == nil marks a free slot. When the cluster also has
// Classes(reads []string) (ids, reps []int32, ok bool), On evaluates each class of equal nodes once; otherwise On is O(1) and the state
// evaluates each node when asked. After a change of a node, call On again.
func (e *Evaluator) On(nodes interface {
	Len() int
	Node(i int) *v1.Node
}) State {
	return &state{e, nodes, view.Classify(nodes, reads[:], e.answer)}
}

func (e *Evaluator) answer(node *v1.Node) answer { return answer{e.verdict(node), e.raw(node)} }

func (e *Evaluator) verdict(node *v1.Node) resources.Verdict {
	if e.untolerated(node.Spec.Taints) >= 0 {
		return tainted
	}
	return 0
}

func (s *state) Name() string { return "TaintToleration" }

func (s *state) Check(i int) resources.Verdict {
	if c := s.classes.At(i); c != nil {
		return c.verdict
	}
	if node := s.nodes.Node(i); node != nil {
		return s.evaluator.verdict(node)
	}
	return tainted
}

func (s *state) Reasons(v resources.Verdict) []string {
	if v == 0 {
		return nil
	}
	return []string{"node(s) had untolerated taint(s)"}
}

func (s *state) Raw(i int) int64 {
	if c := s.classes.At(i); c != nil {
		return c.raw
	}
	if node := s.nodes.Node(i); node != nil {
		return s.evaluator.raw(node)
	}
	return 0
}

// raw returns the number of PreferNoSchedule taints that are not tolerated. Equal taints count each. Only tolerations with
// that effect or none can tolerate them.
func (e *Evaluator) raw(node *v1.Node) int64 {
	var n int64
	for i := range node.Spec.Taints {
		if t := &node.Spec.Taints[i]; kindOf(t.Effect) == preferNoSchedule && !e.tolerates(t, preferNoSchedule) {
			n++
		}
	}
	return n
}

func (s *state) Normalize(raw, lo, hi int64) int64 {
	if hi <= 0 {
		return 100
	}
	return 100 - 100*raw/hi
}

// Reads appends what Check and Raw read of a node, in the words of cluster.Snapshot.Classes. Nodes that are equal in it get
// equal answers.
func (s *state) Reads(dst []string) []string { return append(dst, reads[:]...) }

var reads = [...]string{"taints"}

func (s *state) Explain(i int) []Explanation {
	node := s.nodes.Node(i)
	if node == nil {
		return nil
	}
	var out []Explanation
	for k := range node.Spec.Taints {
		x := Explanation{Taint: node.Spec.Taints[k], By: -1}
		if by := s.evaluator.first(&x.Taint, kindOf(x.Taint.Effect)); by != nil {
			x.By = by.index
		}
		out = append(out, x)
	}
	return out
}
