package podkey

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/key"
)

// Requests appends what determines what a pod asks for: requests and limits of its containers, which init containers keep running,
// spec.resources and spec.overhead. Images, commands and the status are not part of the key.
func Requests(dst []byte, pod *v1.Pod) []byte {
	dst = appendContainers(dst, pod.Spec.Containers)
	dst = appendContainers(dst, pod.Spec.InitContainers)
	dst = key.Resources(dst, pod.Spec.Overhead)
	return key.Optional(dst, pod.Spec.Resources, appendAmounts)
}

func appendAmounts(dst []byte, r v1.ResourceRequirements) []byte {
	return key.Resources(key.Resources(dst, r.Requests), r.Limits)
}

func appendContainers(dst []byte, list []v1.Container) []byte {
	dst = key.Len(dst, len(list))
	for i := range list {
		c := &list[i]
		dst = appendAmounts(dst, c.Resources)
		dst = key.Optional(dst, c.RestartPolicy, key.Text)
	}
	return dst
}
