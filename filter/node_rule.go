package filter

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/resources"
)

// nodeRule is a pod's side of a filter that looks at one node object at a time and never at running pods: NodeName or
// NodeDeclaredFeatures.
type nodeRule struct {
	plugin string
	reads  string // of a node, in the words of cluster.Snapshot.Classes
	skip   bool
	check  func(node *v1.Node) resources.Verdict // not called for a rule with skip
	hint   engine.Hint
	texts  []string // texts[v-1] is the reason of verdict v without its Unresolvable bit
}

func (e *nodeRule) Skip() bool { return e.skip }

// On returns a predicate that rejects a free slot like a node that does not satisfy the rule. Check does not allocate. The
// predicate has the method Reads(dst []string) []string, which appends what Check reads of a node in the words of
// cluster.Snapshot.Classes.
func (e *nodeRule) On(c Cluster) Predicate { return &nodeRuleState{e, c} }

type nodeRuleState struct {
	rule    *nodeRule
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

// Reads appends what Check reads of a node.
func (s *nodeRuleState) Reads(dst []string) []string {
	if s.rule.skip {
		return dst
	}
	return append(dst, s.rule.reads)
}

// CompileNodeName compiles the filter NodeName: spec.nodeName must be empty or the node's name. Other nodes and free slots
// are rejected with verdict 1 and [resources.Unresolvable]. The filter skips a pod without spec.nodeName, and a scheduler sees
// no other pods. The kubelet applies the rule at admission (overhead/kubelet.Admission). O(1).
func CompileNodeName(pod *v1.Pod) Evaluator[Cluster, Predicate] {
	if pod.Spec.NodeName == "" {
		return anyNode
	}
	return nodeNamed(pod.Spec.NodeName)
}

// anyNode is the filter of every pod without spec.nodeName.
var anyNode = nodeNamed("")

func nodeNamed(want string) *nodeRule {
	return &nodeRule{plugin: "NodeName", reads: "name", skip: want == "", hint: nodeNameWouldHelp, texts: []string{otherNode},
		check: func(node *v1.Node) resources.Verdict {
			if node.Name == want {
				return 0
			}
			return 1 | resources.Unresolvable
		}}
}

const otherNode = "node(s) didn't match the requested node name"
