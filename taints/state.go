package taints

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// Verdicts of this package. Both carry resources.Unresolvable: removing pods from the node does not help.
const (
	// Tainted: a NoSchedule or NoExecute taint is not tolerated (filter TaintToleration).
	Tainted = 1 | resources.Unresolvable
	// Cordoned: spec.unschedulable is set and not tolerated (filter NodeUnschedulable).
	Cordoned = 2 | resources.Unresolvable
)

// Texts of the verdicts, as they stand in the message of a pod that cannot be scheduled.
const (
	TaintedReason  = "node(s) had untolerated taint(s)"
	CordonedReason = "node(s) were unschedulable"
)

// Reasons returns the text of a verdict, nil for 0 and for a number that is not of this package.
func Reasons(verdict resources.Verdict) []string {
	switch verdict {
	case Tainted:
		return []string{TaintedReason}
	case Cordoned:
		return []string{CordonedReason}
	}
	return nil
}

// CheckNode returns Tainted when a NoSchedule or NoExecute taint of the node is not tolerated, otherwise 0. It is the
// filter TaintToleration. O(taints x tolerations), no allocation.
func (e *Evaluator) CheckNode(node *v1.Node) resources.Verdict {
	if e.firstUntolerated(node.Spec.Taints) >= 0 {
		return Tainted
	}
	return 0
}

// CheckCordon returns Cordoned when spec.unschedulable is set and not tolerated, otherwise 0, whatever the node's taints.
// It is the filter NodeUnschedulable, which runs before TaintToleration. O(1).
func (e *Evaluator) CheckCordon(node *v1.Node) resources.Verdict {
	if node.Spec.Unschedulable && !e.ToleratesCordon() {
		return Cordoned
	}
	return 0
}

// Reason returns the text of a verdict on the node. It is that of Reasons unless Options.NamedTaint asks for the name of
// the first untolerated taint.
func (e *Evaluator) Reason(node *v1.Node, verdict resources.Verdict) []string {
	if verdict == Tainted && e != nil && e.options.NamedTaint {
		if t := e.Untolerated(node.Spec.Taints); t != nil {
			return []string{fmt.Sprintf("node(s) had untolerated taint {%s: %s}", t.Key, t.Value)}
		}
	}
	return Reasons(verdict)
}

// Cluster is the part of a view of a cluster that taints need. When it also has
// Classes(reads []string) (ids, reps []int32, ok bool), nodes that are equal in taints and spec.unschedulable are
// evaluated once.
type Cluster interface {
	Len() int
	Node(i int) *v1.Node // nil: free slot
}

type classer interface {
	Classes(reads []string) (ids, reps []int32, ok bool)
}

// Reads appends what an evaluator looks at on a node: "taints" and "unschedulable".
func (e *Evaluator) Reads(dst []string) []string { return append(dst, "taints", "unschedulable") }

// State is an evaluator over the slots of a cluster. It is immutable and safe for concurrent reads. It holds for the
// nodes as they were at Count; pods that come and go do not matter.
type State struct {
	e       *Evaluator
	cluster Cluster
	ids     []int32
	classes []answer
}

// answer is all that is known of a node, or of a class of equal nodes.
type answer struct {
	taints, cordon resources.Verdict
	raw            int64
}

// Count evaluates over a cluster: O(classes) when the cluster offers classes of equal nodes, otherwise O(1) with each
// slot evaluated when it is asked for. Count anew when a node was added, changed or removed.
func (e *Evaluator) Count(cluster Cluster) *State {
	s := &State{e: e, cluster: cluster}
	c, ok := cluster.(classer)
	if !ok {
		return s
	}
	ids, reps, ok := c.Classes(e.Reads(nil))
	if !ok {
		return s
	}
	s.ids, s.classes = ids, make([]answer, len(reps))
	for id, slot := range reps {
		if slot < 0 {
			continue
		}
		if node := cluster.Node(int(slot)); node != nil {
			s.classes[id] = e.answer(node)
		}
	}
	return s
}

func (e *Evaluator) answer(node *v1.Node) answer {
	return answer{e.CheckNode(node), e.CheckCordon(node), e.RawNode(node)}
}

// class returns the class of slot i, nil when the cluster offers none.
func (s *State) class(i int) *answer {
	if i < len(s.ids) {
		if id := s.ids[i]; id >= 0 && int(id) < len(s.classes) {
			return &s.classes[id]
		}
	}
	return nil
}

// Check returns the verdict of the filter TaintToleration on slot i: 0 or Tainted. A free slot answers 0. No allocation.
func (s *State) Check(i int) resources.Verdict {
	if c := s.class(i); c != nil {
		return c.taints
	}
	if node := s.cluster.Node(i); node != nil {
		return s.e.CheckNode(node)
	}
	return 0
}

// CheckCordon returns the verdict of the filter NodeUnschedulable on slot i: 0 or Cordoned. A free slot answers 0. No
// allocation.
func (s *State) CheckCordon(i int) resources.Verdict {
	if c := s.class(i); c != nil {
		return c.cordon
	}
	if node := s.cluster.Node(i); node != nil {
		return s.e.CheckCordon(node)
	}
	return 0
}

// Raw returns the number of PreferNoSchedule taints of slot i that are not tolerated; 0 for a free slot. No allocation.
func (s *State) Raw(i int) int64 {
	if c := s.class(i); c != nil {
		return c.raw
	}
	if node := s.cluster.Node(i); node != nil {
		return s.e.RawNode(node)
	}
	return 0
}

// AppendSignature appends two integers that determine Check, CheckCordon and Raw on slot i and change only when its node
// does: the verdicts as bits, and the raw score.
func (s *State) AppendSignature(dst []int32, i int) []int32 {
	var verdicts int32
	if s.Check(i) != 0 {
		verdicts |= 1
	}
	if s.CheckCordon(i) != 0 {
		verdicts |= 2
	}
	return append(dst, verdicts, int32(s.Raw(i)))
}

// Dynamic reports whether events on other slots can change a verdict or raw score: never.
func (s *State) Dynamic() bool { return false }

// Reasons returns the text of a verdict on slot i, see Evaluator.Reason.
func (s *State) Reasons(i int, verdict resources.Verdict) []string {
	if node := s.cluster.Node(i); node != nil {
		return s.e.Reason(node, verdict)
	}
	return Reasons(verdict)
}

// Explain explains the answers on slot i, see Evaluator.ExplainNode; the zero value for a free slot.
func (s *State) Explain(i int) Explanation {
	if node := s.cluster.Node(i); node != nil {
		return s.e.ExplainNode(node)
	}
	return Explanation{}
}
