package key

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// Labels appends the namespace and the labels of a pod.
func Labels(dst []byte, pod *v1.Pod) []byte { return Pairs(Text(dst, pod.Namespace), pod.Labels) }

// PodTerms appends the inter-pod affinity and anti-affinity terms of a pod as they are written in its spec.
func PodTerms(dst []byte, pod *v1.Pod) []byte {
	affinity, anti := podinfo.PodAffinity(pod)
	dst = Flag(dst, affinity != nil)
	if affinity != nil {
		dst = podTerms(dst, affinity.RequiredDuringSchedulingIgnoredDuringExecution, affinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	dst = Flag(dst, anti != nil)
	if anti != nil {
		dst = podTerms(dst, anti.RequiredDuringSchedulingIgnoredDuringExecution, anti.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return dst
}

func podTerms(dst []byte, required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm) []byte {
	dst = Len(dst, len(required))
	for i := range required {
		dst = podTerm(dst, &required[i])
	}
	dst = Len(dst, len(preferred))
	for i := range preferred {
		dst = podTerm(Int(dst, int64(preferred[i].Weight)), &preferred[i].PodAffinityTerm)
	}
	return dst
}

// podTerm appends one term. matchLabelKeys and mismatchLabelKeys have no effect at scheduling: the API server merges
// them into the selector.
func podTerm(dst []byte, t *v1.PodAffinityTerm) []byte {
	dst = Selector(Text(dst, t.TopologyKey), t.LabelSelector)
	return Selector(Texts(dst, t.Namespaces), t.NamespaceSelector)
}
