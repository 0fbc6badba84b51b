package spread

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/taints"
)

// AppendKey appends everything that the rules of this package read of an incoming pod: its namespace and labels,
// spec.topologySpreadConstraints, the controller from which default constraints derive their selector, and what the node
// inclusion policies read (spec.nodeSelector, node affinity, tolerations). Pods with equal keys have the same verdicts and
// scores. A nil pod panics.
func AppendKey(dst []byte, pod *v1.Pod) []byte {
	dst = key.Pairs(key.Text(dst, pod.Namespace), pod.Labels)
	dst = key.Controller(dst, pod)
	list := pod.Spec.TopologySpreadConstraints
	dst = key.Len(dst, len(list))
	for i := range list {
		c := &list[i]
		dst = key.Text(key.Text(key.Int(dst, int64(c.MaxSkew)), c.TopologyKey), c.WhenUnsatisfiable)
		dst = key.Texts(key.Selector(dst, c.LabelSelector), c.MatchLabelKeys)
		dst = key.Optional(dst, c.MinDomains, func(dst []byte, n int32) []byte { return key.Int(dst, int64(n)) })
		dst = key.Optional(dst, c.NodeAffinityPolicy, key.Text)
		dst = key.Optional(dst, c.NodeTaintsPolicy, key.Text)
	}
	return taints.AppendKey(affinity.AppendNodeKey(dst, pod), pod)
}
