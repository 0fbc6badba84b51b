package spread

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/release"
)

// countsAsPlaced reports whether the hint takes a pod for placed: it has a node, or since v1.36 is nominated to a node (rule
// L7.10). It is the only difference between releases in topology spread.
func countsAsPlaced(v release.Version, pod *v1.Pod) bool {
	if !v.AtLeast(release.V1_36) {
		return pod.Spec.NodeName != ""
	}
	return podinfo.Placed(pod)
}
