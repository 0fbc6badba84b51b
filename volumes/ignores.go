package volumes

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// Ignores reports whether the plugins of this package leave the pod out in every cluster: the kubelet makes all volumes of the pod
// on the node (configMap, secret, projected, downwardAPI, emptyDir, hostPath).
func Ignores(pod *v1.Pod) bool {
	for i := range pod.Spec.Volumes {
		if !podinfo.LocalVolume(&pod.Spec.Volumes[i].VolumeSource) {
			return false
		}
	}
	return true
}
