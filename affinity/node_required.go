package affinity

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// pair is a label that spec.nodeSelector requires.
type pair struct{ key, value string }

// CompileRequired compiles the pod's spec.nodeSelector and required node affinity, without the terms that a profile adds
// (rules A2.1 and A3.1 to A3.5). The kubelet's admission, the DaemonSet controller and the inclusion of nodes in topology
// spread use this rule. A node must have every pair of nodeSelector and satisfy the required node affinity. The error is
// that of [CompileSelector]: it names terms that can never match, which v1.37.2 ignores in the filter. The selector is valid
// even with an error. The pod must not be nil.
func CompileRequired(pod *v1.Pod) (*Selector, error) {
	var terms *v1.NodeSelector
	if a := podinfo.NodeAffinity(pod); a != nil {
		terms = a.RequiredDuringSchedulingIgnoredDuringExecution
	}
	s := compileSelector(terms, nil)
	if len(pod.Spec.NodeSelector) == 0 {
		return s, s.err
	}
	for k, v := range pod.Spec.NodeSelector {
		s.pairs = append(s.pairs, pair{k, v})
	}
	slices.SortFunc(s.pairs, func(a, b pair) int { return strings.Compare(a.key, b.key) })
	var names reads
	for i := range s.pairs {
		names.add("label:" + s.pairs[i].key)
	}
	names.addAll(s.reads)
	s.reads = names.names
	return s, s.err
}

// MatchNode reports whether the pod's nodeSelector and required node affinity allow the node. It calls [CompileRequired] and
// Matches; compile once to ask about many nodes. Pod and node must not be nil.
func MatchNode(pod *v1.Pod, node *v1.Node) bool {
	s, _ := CompileRequired(pod) // terms that cannot be converted match nothing, as in v1.37
	return s.Matches(node)
}

// selects reports whether the node has every pair of spec.nodeSelector.
func (s *Selector) selects(node *v1.Node) bool {
	for i := range s.pairs {
		if v, ok := node.Labels[s.pairs[i].key]; !ok || v != s.pairs[i].value {
			return false
		}
	}
	return true
}
