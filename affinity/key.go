package affinity

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/internal/podinfo"
)

// AppendNodeKey appends everything that node affinity reads of an incoming pod: spec.nodeSelector and
// spec.affinity.nodeAffinity. Pods with equal keys have the same verdicts and scores.
func AppendNodeKey(dst []byte, pod *v1.Pod) []byte {
	dst = key.Pairs(dst, pod.Spec.NodeSelector)
	a := pod.Spec.Affinity
	dst = key.Flag(dst, a != nil && a.NodeAffinity != nil)
	if a == nil || a.NodeAffinity == nil {
		return dst
	}
	dst = key.Optional(dst, a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution, key.NodeSelector)
	preferred := a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	dst = key.Len(key.Flag(dst, preferred != nil), len(preferred))
	for i := range preferred {
		dst = key.NodeTerm(key.Int(dst, int64(preferred[i].Weight)), &preferred[i].Preference)
	}
	return dst
}

// AppendPodKey appends everything that inter-pod affinity reads of an incoming pod: its namespace and labels, which the
// terms of running pods select, and spec.affinity.podAffinity and podAntiAffinity. Pods with equal keys have the same
// verdicts and scores.
func AppendPodKey(dst []byte, pod *v1.Pod) []byte {
	return appendTerms(key.Pairs(key.Text(dst, pod.Namespace), pod.Labels), pod)
}

// appendTerms appends the inter-pod affinity and anti-affinity terms of a pod as they are written in its spec.
func appendTerms(dst []byte, pod *v1.Pod) []byte {
	affinity, anti := podinfo.PodAffinity(pod)
	dst = key.Flag(dst, affinity != nil)
	if affinity != nil {
		dst = appendPodTerms(dst, affinity.RequiredDuringSchedulingIgnoredDuringExecution, affinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	dst = key.Flag(dst, anti != nil)
	if anti != nil {
		dst = appendPodTerms(dst, anti.RequiredDuringSchedulingIgnoredDuringExecution, anti.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return dst
}

func appendPodTerms(dst []byte, required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm) []byte {
	dst = key.Len(dst, len(required))
	for i := range required {
		dst = appendPodTerm(dst, &required[i])
	}
	dst = key.Len(dst, len(preferred))
	for i := range preferred {
		dst = appendPodTerm(key.Int(dst, int64(preferred[i].Weight)), &preferred[i].PodAffinityTerm)
	}
	return dst
}

// appendPodTerm appends one term. matchLabelKeys and mismatchLabelKeys have no effect at scheduling: the API server merges
// them into the selector.
func appendPodTerm(dst []byte, t *v1.PodAffinityTerm) []byte {
	dst = key.Selector(key.Text(dst, t.TopologyKey), t.LabelSelector)
	return key.Selector(key.Texts(dst, t.Namespaces), t.NamespaceSelector)
}
