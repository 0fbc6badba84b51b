package decider

import (
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/must"
)

// ReleaseClaims takes a pod that left off its ResourceClaims. It does what controllers do, as MakeClaims does. Both are steps of a
// planner's computation: the planner defers must.Catch, which returns an error of the snapshot.
//
// A claim that was made for the pod goes with the pod. A claim that no pod
// has reserved any more loses its allocation.
func ReleaseClaims(s *cluster.Snapshot, pod *v1.Pod) {
	all := cluster.List[*resourcev1.ResourceClaim](s)
	for _, name := range names(pod) {
		c, ok := all.Get(pod.Namespace, name)
		if !ok {
			continue
		}
		if left := devices.Abandoned(c, pod); left != nil {
			must.Do(s.Set(left))
		} else {
			must.Do(s.Remove(c))
		}
	}
}

// names returns the names of the claims that a pod uses.
func names(pod *v1.Pod) (names []string) {
	for k := range pod.Spec.ResourceClaims {
		if name := pod.Spec.ResourceClaims[k].ResourceClaimName; name != nil {
			names = append(names, *name)
		}
	}
	for k := range pod.Status.ResourceClaimStatuses {
		if name := pod.Status.ResourceClaimStatuses[k].ResourceClaimName; name != nil {
			names = append(names, *name)
		}
	}
	if s := pod.Status.ExtendedResourceClaimStatus; s != nil {
		names = append(names, s.ResourceClaimName)
	}
	return names
}

// MakeClaims makes the claims of a new pod from their templates and writes their names into the pod's status. suffix ends the names. A
// template that does not exist makes none, and the pod stays pending.
func MakeClaims(s *cluster.Snapshot, pod *v1.Pod, suffix string) {
	templates := cluster.List[*resourcev1.ResourceClaimTemplate](s)
	for k := range pod.Spec.ResourceClaims {
		e := &pod.Spec.ResourceClaims[k]
		if e.ResourceClaimTemplateName == nil {
			continue
		}
		template, ok := templates.Get(pod.Namespace, *e.ResourceClaimTemplateName)
		if !ok {
			continue
		}
		c := devices.ClaimFromTemplate(pod, e.Name, template, suffix)
		must.Do(s.Set(c))
		pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, v1.PodResourceClaimStatus{Name: e.Name, ResourceClaimName: &c.Name})
	}
}
