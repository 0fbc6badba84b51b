package admission

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/release"
)

// This file has the differences between releases in what the API server stores.

// fillsLate reports whether the API server fills spec.resources after the admission plugins, as in v1.37 (rule L15.4).
func fillsLate(v release.Version) bool { return v.AtLeast(release.V1_37) }

// withPodLevel fills spec.resources as v1.37 does (rule L15.4). Besides overhead.Default, requests alone are enough: the missing
// requests of cpu and memory become those of the containers, and each request gets a limit, the larger of the request and the
// containers' limits, if every container limits the resource.
func withPodLevel(pod *v1.Pod) *v1.Pod {
	late := pod.Spec.Resources != nil && len(pod.Spec.Resources.Requests) > 0 && len(pod.Spec.Resources.Limits) == 0
	pod = overhead.Default(pod)
	if !late {
		return pod
	}
	r, bare := pod.Spec.Resources, overhead.Options{IgnorePodLevel: true, IgnoreOverhead: true}
	requests := overhead.Requests(pod, bare)
	for _, name := range [...]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		q, asked := requests[name]
		if _, has := r.Requests[name]; asked && !has {
			r.Requests[name] = q
		}
	}
	limits := overhead.Limits(pod, bare)
	for name, q := range r.Requests {
		if _, has := r.Limits[name]; has || !overhead.PodLevelSupported(name) || !allLimit(&pod.Spec, name) {
			continue
		}
		if limit := limits[name]; limit.Cmp(q) > 0 {
			q = limit
		}
		if r.Limits == nil {
			r.Limits = v1.ResourceList{}
		}
		r.Limits[name] = q
	}
	return pod
}

// allLimit reports whether every container limits a resource.
func allLimit(s *v1.PodSpec, name v1.ResourceName) bool {
	for _, containers := range [...][]v1.Container{s.InitContainers, s.Containers} {
		for i := range containers {
			if _, has := containers[i].Resources.Limits[name]; !has {
				return false
			}
		}
	}
	return true
}

// Bound returns a copy of the pod as the API server of a release stores it once it is bound to the node: with spec.nodeName and,
// since v1.35, with the node's zone and region (rule L15.1, [TopologyLabels]) and without status.nominatedNodeName (rule L8.2). A
// nil pod gives nil, a nil node the pod as it is. O(size of the pod).
func Bound(pod *v1.Pod, node *v1.Node, v release.Version) *v1.Pod {
	pod = pod.DeepCopy()
	if pod == nil || node == nil {
		return pod
	}
	pod.Spec.NodeName = node.Name
	if !v.AtLeast(release.V1_35) {
		return pod
	}
	pod.Status.NominatedNodeName = ""
	for key, value := range TopologyLabels(node) {
		if pod.Labels == nil {
			pod.Labels = map[string]string{}
		}
		pod.Labels[key] = value
	}
	return pod
}
