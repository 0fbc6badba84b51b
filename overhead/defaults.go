package overhead

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Default returns a copy of the pod with what the API server fills in when a pod is created, as far as scheduling sees it:
//
//  1. A container or init container with a limit and no request of a resource requests its limit.
//  2. Where spec.resources has any request or limit, huge pages limits of the containers, summed as Limits does, become
//     limits of the pod unless it names them in either. Where it then has any limit, its requests of cpu and memory default
//     to those of the containers, and what is still missing of cpu, memory and huge pages to its limits.
//  3. In the host's network every container port without a host port takes its own number.
//  4. Amounts, those of the overhead too, are rounded up to thousandths in the end.
//
// Pods read from a server have passed this; manifests have not, and ask for less without it. Pod templates are not
// defaulted so. nil gives nil. Rules: API field documentation of resources.requests, pod.spec.resources and
// containers[*].ports[*].hostPort.
func Default(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	if pod == nil {
		return nil
	}
	for _, containers := range [...][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			r := &containers[i].Resources
			r.Requests = fill(r.Requests, r.Limits)
			if pod.Spec.HostNetwork {
				ports := containers[i].Ports
				for j := range ports {
					if ports[j].HostPort == 0 {
						ports[j].HostPort = ports[j].ContainerPort
					}
				}
			}
		}
	}
	if pod.Spec.Resources != nil {
		defaultPodLevel(pod)
		roundUp(pod.Spec.Resources.Requests, pod.Spec.Resources.Limits)
	}
	for _, containers := range [...][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			roundUp(containers[i].Resources.Requests, containers[i].Resources.Limits)
		}
	}
	roundUp(pod.Spec.Overhead)
	return pod
}

// roundUp rounds to thousandths; finer amounts the API server does not store.
func roundUp(lists ...v1.ResourceList) {
	for _, list := range lists {
		for name, q := range list {
			q.RoundUp(resource.Milli)
			list[name] = q
		}
	}
}

func defaultPodLevel(pod *v1.Pod) {
	r := pod.Spec.Resources
	bare := Options{IgnorePodLevel: true, IgnoreOverhead: true}
	if len(r.Requests) > 0 || len(r.Limits) > 0 {
		limits := v1.ResourceList{}
		for name, q := range Limits(pod, bare) {
			if strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix) && !hasName(r.Requests, name) {
				limits[name] = q
			}
		}
		r.Limits = fill(r.Limits, limits)
	}
	if len(r.Limits) == 0 {
		return
	}
	requests := v1.ResourceList{}
	for name, q := range Requests(pod, bare) {
		if name == v1.ResourceCPU || name == v1.ResourceMemory { // huge pages cannot be overcommitted
			requests[name] = q
		}
	}
	for name, q := range r.Limits {
		if PodLevelSupported(name) && !hasName(requests, name) {
			requests[name] = q
		}
	}
	r.Requests = fill(r.Requests, requests)
}

// fill adds to list what it lacks of from.
func fill(list, from v1.ResourceList) v1.ResourceList {
	for name, q := range from {
		if !hasName(list, name) {
			if list == nil {
				list = v1.ResourceList{}
			}
			list[name] = q.DeepCopy()
		}
	}
	return list
}
