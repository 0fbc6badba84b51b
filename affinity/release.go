package affinity

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/release"
)

// This file has the differences between releases in inter-pod affinity.

// selectsNames reports whether a namespaceSelector selects the names of namespaces and nothing else, as in v1.37 (rule L3.4).
func selectsNames(v release.Version) bool { return v.AtLeast(release.V1_37) }

// ownChangeHelps reports whether a change of the rejected pod itself is worth a retry, as since v1.36 (rule L7.7).
func ownChangeHelps(v release.Version) bool { return v.AtLeast(release.V1_36) }

// blockedBy reports whether a pod that leaves kept the rejected pod out by its required anti-affinity: the rejected pod matches
// all of its terms. Up to v1.35 nobody asked (rule L7.8), in v1.37 one term is enough (rule L7.9).
func blockedBy(v release.Version, rejected, left *v1.Pod) (bool, error) {
	if !v.AtLeast(release.V1_36) {
		return false, nil
	}
	terms, err := requiredAntiAffinity(left)
	return meets(v, terms, rejected), err
}

// meets reports whether a pod matches the terms of a required anti-affinity by the rule of the hint: all of them up to v1.36,
// one of them in v1.37 (rule L7.9).
func meets(v release.Version, terms []term, pod *v1.Pod) bool {
	if !v.AtLeast(release.V1_37) {
		return all(terms, pod)
	}
	return slices.ContainsFunc(terms, func(t term) bool { return t.matchesIn(pod, noLabels) })
}

// countsAsPlaced reports whether a pod has a node, or since v1.36 is nominated to a node (rule L7.10).
func countsAsPlaced(v release.Version, pod *v1.Pod) bool {
	if !v.AtLeast(release.V1_36) {
		return pod.Spec.NodeName != ""
	}
	return podinfo.Placed(pod)
}
