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
	dst = key.Constraints(key.Labels(dst, pod), pod)
	return taints.AppendKey(affinity.AppendNodeKey(dst, pod), pod)
}
