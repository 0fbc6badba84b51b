package filter

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// NodeName is a pod's side of the filter of that name: spec.nodeName must be empty or the node's name. Pods that have a
// node never reach a scheduler; the rule is the kubelet's at admission (see Admission). It is immutable.
type NodeName struct{ want string }

// CompileNodeName takes spec.nodeName.
func CompileNodeName(pod *v1.Pod) *NodeName { return &NodeName{pod.Spec.NodeName} }

// Skip reports whether the pod names no node; the predicate then allows every node.
func (e *NodeName) Skip() bool { return e.want == "" }

// Reads appends what the verdict on a node depends on.
func (e *NodeName) Reads(dst []string) []string {
	if e.Skip() {
		return dst
	}
	return append(dst, "name")
}

// Count binds the rule to a cluster. O(1).
func (e *NodeName) Count(c Cluster) *NodeNameState { return &NodeNameState{e.want, c} }

// NodeNameState is NodeName for one pod and one cluster.
type NodeNameState struct {
	want    string
	cluster Cluster
}

// Name returns "NodeName".
func (s *NodeNameState) Name() string { return "NodeName" }

// Check rejects slot i with verdict 1 and Unresolvable when its node has another name, or when the slot is free and the
// pod names a node. No allocation.
func (s *NodeNameState) Check(i int) resources.Verdict {
	if s.want == "" {
		return 0
	}
	if n := s.cluster.Node(i); n != nil && n.Name == s.want {
		return 0
	}
	return 1 | resources.Unresolvable
}

// Reasons returns the text of a verdict.
func (s *NodeNameState) Reasons(v resources.Verdict) []string {
	if v == 0 {
		return nil
	}
	return []string{otherNode}
}

const otherNode = "node(s) didn't match the requested node name"

// AppendSignature appends the verdict: it changes only by events on slot i.
func (s *NodeNameState) AppendSignature(dst []int32, i int) []int32 {
	return append(dst, int32(s.Check(i)))
}

// Dynamic returns false: other slots do not matter.
func (s *NodeNameState) Dynamic() bool { return false }
