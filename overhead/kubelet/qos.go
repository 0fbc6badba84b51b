package kubelet

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/release"
)

// QoS returns the pod's quality of service class: the class in the pod's status, whatever it is, and otherwise the class
// that follows from the spec in a release. In the spec only positive amounts of cpu and memory count, and overhead does not
// count. If spec.resources is set, spec.resources alone decides, up to v1.36 even when it is empty (rule L15.5). Otherwise the
// containers and all init containers decide:
//
//  1. No container has a request or a limit: BestEffort.
//  2. Every container limits cpu and memory, and the sums of requests and limits are equal: Guaranteed.
//  3. Otherwise: Burstable.
//
// QoS reads the spec as it is. A spec that did not pass an API server needs [overhead.Default] first. A nil pod is BestEffort.
// Rules O8.1 to O8.5: API field status.qosClass; documentation, "Pod Quality of Service Classes".
func QoS(pod *v1.Pod, v release.Version) v1.PodQOSClass {
	if pod == nil {
		return v1.PodQOSBestEffort
	}
	if pod.Status.QOSClass != "" {
		return pod.Status.QOSClass
	}
	requests, limits := v1.ResourceList{}, v1.ResourceList{}
	limited := true
	if r := pod.Spec.Resources; r != nil && podLevelDecides(r, v) {
		addPositive(requests, r.Requests)
		limited = addPositive(limits, r.Limits) == 2
	} else {
		for _, containers := range [...][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
			for i := range containers {
				addPositive(requests, containers[i].Resources.Requests)
				if addPositive(limits, containers[i].Resources.Limits) < 2 {
					limited = false
				}
			}
		}
	}
	if len(requests) == 0 && len(limits) == 0 {
		return v1.PodQOSBestEffort
	}
	if !limited || len(requests) != len(limits) {
		return v1.PodQOSBurstable
	}
	for name, request := range requests {
		if limit := limits[name]; limit.Cmp(request) != 0 {
			return v1.PodQOSBurstable
		}
	}
	return v1.PodQOSGuaranteed
}

// addPositive adds the positive amounts of cpu and memory in list to sum, and returns how many of the two are positive.
func addPositive(sum, list v1.ResourceList) (n int) {
	for _, name := range [...]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		if q := list[name]; q.Sign() > 0 {
			total := sum[name]
			total.Add(q)
			sum[name] = total
			n++
		}
	}
	return n
}
