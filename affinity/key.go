package affinity

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/key"
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
	return key.PodTerms(key.Labels(dst, pod), pod)
}
