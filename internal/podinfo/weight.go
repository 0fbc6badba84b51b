package podinfo

import v1 "k8s.io/api/core/v1"

// Weight returns how many steps it takes to ask a filter about a pod: 1, and 1 more for every eight requirements and requests after
// the first 64.
func Weight(pod *v1.Pod) int {
	n := len(pod.Spec.NodeSelector) + len(pod.Spec.Tolerations) + len(pod.Spec.TopologySpreadConstraints)
	if a := NodeAffinity(pod); a != nil && a.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, t := range a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			n += len(t.MatchExpressions) + len(t.MatchFields)
			for _, r := range t.MatchExpressions {
				n += len(r.Values) / 8
			}
		}
	}
	for _, list := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			n += len(list[i].Resources.Requests) + len(list[i].Ports)
		}
	}
	return 1 + max(0, n-64)/8
}
