package overhead

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Default returns a copy of the pod with the values that the API server fills in when a pod is created, as far as scheduling
// reads them:
//
//  1. A container or init container that limits a resource and does not request it requests its limit.
//  2. When spec.resources has a request or limit, the containers' limits of huge pages, summed as in [Limits], become limits
//     in spec.resources, unless spec.resources names the huge pages already. When spec.resources then has a limit, its
//     missing requests of cpu and memory become the requests of the containers. Requests of cpu, memory and huge pages that
//     are still missing become the limits.
//  3. In the host's network every container port without a host port gets the number of the container port as host port.
//  4. At the end all amounts, also those of the overhead, are rounded up to thousandths.
//
// Pods that come from a server have these values. A manifest does not, and asks for less without Default. The API server
// does not fill in pod templates in this way. Default of nil is nil. Rules: API field documentation of resources.requests,
// pod.spec.resources and containers[*].ports[*].hostPort.
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
		roundUp(pod.Spec.Resources.Requests)
		roundUp(pod.Spec.Resources.Limits)
	}
	for _, containers := range [...][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			roundUp(containers[i].Resources.Requests)
			roundUp(containers[i].Resources.Limits)
		}
	}
	roundUp(pod.Spec.Overhead)
	return pod
}

// roundUp rounds up to thousandths, because the API server does not store finer amounts.
func roundUp(list v1.ResourceList) {
	for name, q := range list {
		q.RoundUp(resource.Milli)
		list[name] = q
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

// fill adds to list the resources of from that list lacks.
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
