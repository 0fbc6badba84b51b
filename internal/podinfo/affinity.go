package podinfo

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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

// NodeByName returns the requirement for matchFields that the node has this name.
func NodeByName(node string) v1.NodeSelectorRequirement {
	return v1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{node}}
}

// OnlyNode returns the node selector that matches the node with this name alone.
func OnlyNode(node string) *v1.NodeSelector {
	return &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{NodeByName(node)}}}}
}
