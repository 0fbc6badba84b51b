package taints

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/key"
)

// AppendKey appends everything that the rules of this package read of an incoming pod: its tolerations. Pods with equal
// keys have the same verdicts and scores. Rule: API field spec.tolerations.
func AppendKey(dst []byte, pod *v1.Pod) []byte {
	dst = key.Len(dst, len(pod.Spec.Tolerations))
	for i := range pod.Spec.Tolerations {
		t := &pod.Spec.Tolerations[i]
		dst = key.Text(key.Text(key.Text(key.Text(dst, t.Key), t.Operator), t.Value), t.Effect)
	}
	return dst
}
