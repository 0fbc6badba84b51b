package nodepool

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// AgentTaints is the annotation of a node that lists taints which agents set and lift, such as the startupTaints of a NodePool of Karpenter: each as
// key=value:effect, parted by commas.
const AgentTaints = "podberth.io/agent-taints"

// OfAgent reports whether the annotation of a node lists a taint.
func OfAgent(node *v1.Node, t v1.Taint) bool {
	list := node.Annotations[AgentTaints]
	return list != "" && slices.Contains(strings.Split(list, ","), t.ToString())
}
