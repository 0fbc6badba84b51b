package taints

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// What the kubelet says of a pod that KubeletAdmits refuses: status.reason and status.message.
const (
	KubeletReason  = "TaintToleration"
	KubeletMessage = "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"
)

// KubeletAdmits reports whether the kubelet of the node admits the pod as far as taints go: every NoExecute taint is
// tolerated. Other effects do not matter, and static pods, whose annotation kubernetes.io/config.source names another
// source than "api", are always admitted.
func KubeletAdmits(pod *v1.Pod, node *v1.Node, o Options) bool {
	if podinfo.Static(pod) {
		return true
	}
	return Compile(pod.Spec.Tolerations, o).ToleratesNoExecute(node.Spec.Taints)
}
