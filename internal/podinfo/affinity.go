package podinfo

import v1 "k8s.io/api/core/v1"

// NodeAffinity returns spec.affinity.nodeAffinity, nil without one.
func NodeAffinity(pod *v1.Pod) *v1.NodeAffinity {
	if pod.Spec.Affinity == nil {
		return nil
	}
	return pod.Spec.Affinity.NodeAffinity
}

// PodAffinity returns spec.affinity.podAffinity and spec.affinity.podAntiAffinity, nil for what the pod does not have.
func PodAffinity(pod *v1.Pod) (affinity *v1.PodAffinity, anti *v1.PodAntiAffinity) {
	if pod.Spec.Affinity == nil {
		return nil, nil
	}
	return pod.Spec.Affinity.PodAffinity, pod.Spec.Affinity.PodAntiAffinity
}
