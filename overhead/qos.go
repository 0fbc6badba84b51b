package overhead

import v1 "k8s.io/api/core/v1"

// QoS returns the pod's quality of service class: the one in its status, whatever it says, or ComputeQoS without. Rule:
// API field status.qosClass.
func QoS(pod *v1.Pod) v1.PodQOSClass {
	if pod != nil && pod.Status.QOSClass != "" {
		return pod.Status.QOSClass
	}
	return ComputeQoS(pod)
}

// ComputeQoS returns the class that follows from the spec. Only positive amounts of cpu and memory count, and overhead does
// not. Where spec.resources is set, even empty, it alone decides; otherwise the containers and all init containers:
//
//  1. no request and no limit: BestEffort,
//  2. every container limits cpu and memory, and the sums of requests and limits are equal: Guaranteed,
//  3. otherwise: Burstable.
//
// It reads the spec as it is: see Default. nil is BestEffort. Rule: documentation, "Pod Quality of Service Classes".
func ComputeQoS(pod *v1.Pod) v1.PodQOSClass {
	if pod == nil {
		return v1.PodQOSBestEffort
	}
	requests, limits := v1.ResourceList{}, v1.ResourceList{}
	limited := true
	if r := pod.Spec.Resources; r != nil {
		addPositive(requests, r.Requests)
		if n := addPositive(limits, r.Limits); len(r.Limits) > 0 && n < 2 {
			limited = false
		}
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
		if limit, ok := limits[name]; !ok || limit.Cmp(request) != 0 {
			return v1.PodQOSBurstable
		}
	}
	return v1.PodQOSGuaranteed
}

// addPositive adds the positive amounts of cpu and memory and returns how many there were.
func addPositive(sum, list v1.ResourceList) (n int) {
	for _, name := range [...]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		if q, ok := list[name]; ok && q.Sign() > 0 {
			add(sum, v1.ResourceList{name: q})
			n++
		}
	}
	return n
}
