package kubelet

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/release"
)

// sidecarsDeclare reports whether the limits of earlier sidecars count for an init container, as up to v1.36 (rule L12.10).
func sidecarsDeclare(v release.Version) bool { return !v.AtLeast(release.V1_37) }

// podLevelDecides reports whether spec.resources decides the class of service. In v1.37 it must name a resource that pods can ask
// for as a whole (rule L15.5).
func podLevelDecides(r *v1.ResourceRequirements, v release.Version) bool {
	if !v.AtLeast(release.V1_37) {
		return true
	}
	for _, list := range [...]v1.ResourceList{r.Requests, r.Limits} {
		for name := range list {
			if overhead.PodLevelSupported(name) {
				return true
			}
		}
	}
	return false
}
