package placement

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// unadmitted is the first pod of a plan that no API server has stored, with the field that admission would have set.
type unadmitted struct{ pod, field string }

// note looks at what admission sets in every pod: the priority of a class, and the requests of limits.
func (u *unadmitted) note(pod *v1.Pod) {
	if u.pod != "" {
		return
	}
	if pod.Spec.Priority == nil && pod.Spec.PriorityClassName != "" {
		u.pod, u.field = podinfo.Name(pod), "spec.priority"
		return
	}
	u.noteRequests(pod, "containers", pod.Spec.Containers)
	u.noteRequests(pod, "initContainers", pod.Spec.InitContainers)
}

// noteRequests compares numbers, because a stored container has a request for each of its limits.
func (u *unadmitted) noteRequests(pod *v1.Pod, list string, containers []v1.Container) {
	for i := range containers {
		r := &containers[i].Resources
		if len(r.Limits) <= len(r.Requests) {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(r.Limits)) {
			if _, ok := r.Requests[name]; !ok {
				u.pod, u.field = podinfo.Name(pod), fmt.Sprintf("spec.%s[%d].resources.requests[%s]", list, i, name)
				return
			}
		}
	}
}
