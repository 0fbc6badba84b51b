package filter

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// NodeRule is a pod's side of a filter that looks at one node object at a time and never at pods: NodeName,
// NodeDeclaredFeatures or DynamicResources. CompileNodeName, CompileFeatures and CompileClaims make one. It is immutable.
type NodeRule struct {
	plugin string
	skip   bool
	reads  string                                // what check reads of a node; "" when that depends on the pod's requests
	check  func(node *v1.Node) resources.Verdict // not called for a rule with skip
	texts  []string                              // texts[v-1] is the reason of verdict v without its Unresolvable bit
}

// Skip reports whether the pod makes no use of the filter. The filter then allows every node.
func (e *NodeRule) Skip() bool { return e.skip }

// Reads appends what the verdict on a node depends on: "name" or "features". It appends nothing for a rule that skips.
func (e *NodeRule) Reads(dst []string) []string {
	if e.skip || e.reads == "" {
		return dst
	}
	return append(dst, e.reads)
}

// On returns the filter over a cluster. The filter rejects a free slot like a node that does not satisfy the rule. Check
// does not allocate. Over a rule that reads nothing but the node, the filter has the method AppendSignature(dst []int32, i
// int) []int32, which appends the verdict. O(1).
func (e *NodeRule) On(c Cluster) Predicate {
	s := &nodeRuleState{e, c}
	if e.reads == "" {
		return unsigned{s}
	}
	return s
}

type nodeRuleState struct {
	rule    *NodeRule
	cluster Cluster
}

func (s *nodeRuleState) Name() string { return s.rule.plugin }

func (s *nodeRuleState) Check(i int) resources.Verdict {
	node := s.cluster.Node(i)
	switch {
	case node == nil:
		return 1 | resources.Unresolvable
	case s.rule.skip:
		return 0
	}
	return s.rule.check(node)
}

func (s *nodeRuleState) Reasons(v resources.Verdict) []string {
	if v == 0 {
		return nil
	}
	return []string{s.rule.texts[v&^resources.Unresolvable-1]}
}

// AppendSignature appends the verdict, which changes only when the node of slot i does.
func (s *nodeRuleState) AppendSignature(dst []int32, i int) []int32 {
	return append(dst, int32(s.Check(i)))
}

// unsigned hides AppendSignature: the verdict depends on requests of the pod too.
type unsigned struct{ s *nodeRuleState }

func (u unsigned) Name() string                         { return u.s.Name() }
func (u unsigned) Check(i int) resources.Verdict        { return u.s.Check(i) }
func (u unsigned) Reasons(v resources.Verdict) []string { return u.s.Reasons(v) }

// CompileNodeName compiles the filter NodeName: spec.nodeName must be empty or the node's name. A scheduler never sees a
// pod with spec.nodeName. The kubelet applies the rule at admission (see Admission). Other nodes are rejected with verdict 1
// and resources.Unresolvable.
func CompileNodeName(pod *v1.Pod) *NodeRule {
	want := pod.Spec.NodeName
	return &NodeRule{plugin: "NodeName", skip: want == "", reads: "name", texts: []string{otherNode},
		check: func(node *v1.Node) resources.Verdict {
			if node.Name == want {
				return 0
			}
			return 1 | resources.Unresolvable
		}}
}

const otherNode = "node(s) didn't match the requested node name"
