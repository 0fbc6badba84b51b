package taints

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/resources"
)

// cordoned is the verdict of NodeUnschedulable. Preemption cannot help: removing pods does not uncordon a node.
const cordoned = 1 | resources.Unresolvable

// CordonState is the filter NodeUnschedulable for one pod and one cluster. It is immutable and safe for concurrent use. It
// describes the nodes as they are at OnCordon. After a change of a node the state is out of date.
type CordonState interface {
	// Name returns "NodeUnschedulable".
	Name() string
	// Check returns the verdict on slot i: 1 with [resources.Unresolvable] when the node has spec.unschedulable and the
	// tolerations do not tolerate node.kubernetes.io/unschedulable with an empty value and effect NoSchedule, otherwise 0. It
	// does not matter whether the node carries that taint. A free slot is rejected. No allocation.
	Check(i int) resources.Verdict
	// Reasons returns the text of a verdict, nil for 0.
	Reasons(v resources.Verdict) []string
}

type cordonState struct {
	evaluator *Evaluator
	nodes     view.Nodes
	classes   view.Classes[resources.Verdict]
}

// OnCordon applies the evaluator to a cluster as NodeUnschedulable, at the cost of On.
func (e *Evaluator) OnCordon(nodes interface {
	Len() int
	Node(i int) *v1.Node
}) CordonState {
	return &cordonState{e, nodes, view.Classify(nodes, cordonReads[:], e.cordonVerdict)}
}

// cordonVerdict looks at spec.unschedulable alone, not at the taints of the node.
func (e *Evaluator) cordonVerdict(node *v1.Node) resources.Verdict {
	if node.Spec.Unschedulable && !e.toleratesCordon() {
		return cordoned
	}
	return 0
}

func (e *Evaluator) toleratesCordon() bool { return e != nil && e.cordon }

func (s *cordonState) Name() string { return "NodeUnschedulable" }

func (s *cordonState) Check(i int) resources.Verdict {
	if v := s.classes.At(i); v != nil {
		return *v
	}
	if node := s.nodes.Node(i); node != nil {
		return s.evaluator.cordonVerdict(node)
	}
	return cordoned
}

func (s *cordonState) Reasons(v resources.Verdict) []string {
	if v == 0 {
		return nil
	}
	return []string{"node(s) were unschedulable"}
}

// Reads appends what Check reads of a node, in the words of cluster.Snapshot.Classes.
func (s *cordonState) Reads(dst []string) []string { return append(dst, cordonReads[:]...) }

var cordonReads = [...]string{"unschedulable"}
