package queue

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/release"
)

// scaledDown reports whether a resource of old's requests is smaller in new, by whole milli-units, or gone. A pod that is resized in
// place counts by the rule of the release.
func scaledDown(old, new *v1.Pod, v release.Version) bool {
	if sameRequests(old, new) {
		return false
	}
	o := overhead.Options{UseStatus: true, Release: v}
	after := overhead.Requests(new, o)
	for name, q := range overhead.Requests(old, o) {
		if now, ok := after[name]; !ok || now.MilliValue() < q.MilliValue() {
			return true
		}
	}
	return false
}

// sameRequests reports whether two versions of a pod certainly have the same requests. Nearly all updates change no resources,
// and sameRequests is cheaper than the sums.
func sameRequests(a, b *v1.Pod) bool {
	same := func(x, y []v1.Container) bool {
		if len(x) != len(y) {
			return false
		}
		for i := range x {
			if x[i].Name != y[i].Name || !sameQuantities(x[i].Resources.Requests, y[i].Resources.Requests) ||
				!equality.Semantic.DeepEqual(x[i].RestartPolicy, y[i].RestartPolicy) {
				return false
			}
		}
		return true
	}
	specAlone := func(p *v1.Pod) bool {
		s := &p.Status
		return len(s.ContainerStatuses)+len(s.InitContainerStatuses) == 0 && s.Resources == nil && s.AllocatedResources == nil &&
			!slices.ContainsFunc(s.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodResizePending })
	}
	return specAlone(a) && specAlone(b) && a.Spec.Resources == nil && b.Spec.Resources == nil &&
		same(a.Spec.Containers, b.Spec.Containers) && same(a.Spec.InitContainers, b.Spec.InitContainers) &&
		sameQuantities(a.Spec.Overhead, b.Spec.Overhead)
}
