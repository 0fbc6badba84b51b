package score

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/key"
)

// AppendImagesKey appends everything that ImageLocality reads of an incoming pod: the images of its containers, init
// containers and volumes. A nil pod panics.
func AppendImagesKey(dst []byte, pod *v1.Pod) []byte {
	dst = key.Len(dst, len(pod.Spec.InitContainers)+len(pod.Spec.Containers))
	for i := range pod.Spec.InitContainers {
		dst = key.Text(dst, pod.Spec.InitContainers[i].Image)
	}
	for i := range pod.Spec.Containers {
		dst = key.Text(dst, pod.Spec.Containers[i].Image)
	}
	for i := range pod.Spec.Volumes {
		if image := pod.Spec.Volumes[i].Image; image != nil {
			dst = key.Text(key.Len(dst, i+1), image.Reference)
		}
	}
	return key.Len(dst, 0)
}
