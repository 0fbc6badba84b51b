package queue

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
)

// requests returns the requests of a pod, for the question whether an update lowers them:
//
//  1. The sum of the containers and sidecars.
//  2. At least the need of each init container with the sidecars before it.
//  3. Pod-level values instead, where the pod has them.
//  4. Plus spec.overhead.
//
// A pod that is resized in place counts with the largest of desired, actuated and allocated resources, and without the desired
// resources when the resize is infeasible. Package overhead owns these rules; TestRequestsLikeOverhead holds the two equal.
func requests(pod *v1.Pod) v1.ResourceList {
	total, sidecars, start := v1.ResourceList{}, v1.ResourceList{}, v1.ResourceList{}
	for i := range pod.Spec.Containers {
		addTo(total, containerRequests(pod, &pod.Spec.Containers[i]))
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		need := v1.ResourceList{}
		if c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways {
			r := containerRequests(pod, c)
			addTo(total, r)
			addTo(sidecars, r)
		} else {
			addTo(need, c.Resources.Requests)
		}
		addTo(need, sidecars)
		raise(start, need)
	}
	raise(total, start)
	if r := pod.Spec.Resources; r != nil && podLevel(r.Requests) {
		for name, q := range r.Requests {
			if podLevelName(name) {
				total[name] = podLevelRequest(pod, name, q)
			}
		}
	}
	addTo(total, pod.Spec.Overhead)
	return total
}

func addTo(sum, r v1.ResourceList) {
	for name, q := range r {
		s := sum[name].DeepCopy()
		s.Add(q)
		sum[name] = s
	}
}

func raise(to, r v1.ResourceList) {
	for name, q := range r {
		if have, ok := to[name]; !ok || q.Cmp(have) > 0 {
			to[name] = q
		}
	}
}

func containerRequests(pod *v1.Pod, c *v1.Container) v1.ResourceList {
	var status *v1.ContainerStatus
	for _, list := range [][]v1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range list {
			if list[i].Name == c.Name {
				status = &list[i]
			}
		}
	}
	if status == nil || status.Resources == nil {
		return c.Resources.Requests
	}
	largest := v1.ResourceList{}
	if !infeasible(pod) {
		raise(largest, c.Resources.Requests)
	}
	raise(largest, status.Resources.Requests)
	raise(largest, status.AllocatedResources)
	return largest
}

// infeasible looks at the reason of the first pending condition, not at its status.
func infeasible(pod *v1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == v1.PodResizePending {
			return c.Reason == v1.PodReasonInfeasible
		}
	}
	return false
}

func podLevelName(name v1.ResourceName) bool {
	return name == v1.ResourceCPU || name == v1.ResourceMemory || strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
}

func podLevel(r v1.ResourceList) bool {
	for name := range r {
		if podLevelName(name) {
			return true
		}
	}
	return false
}

func podLevelRequest(pod *v1.Pod, name v1.ResourceName, spec resource.Quantity) resource.Quantity {
	if pod.Status.Resources == nil {
		return spec
	}
	largest := v1.ResourceList{}
	if !infeasible(pod) {
		largest[name] = spec
	}
	for _, r := range []v1.ResourceList{pod.Status.Resources.Requests, pod.Status.AllocatedResources} {
		if q, ok := r[name]; ok {
			raise(largest, v1.ResourceList{name: q})
		}
	}
	return largest[name]
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
	statuses := func(p *v1.Pod) int { return len(p.Status.ContainerStatuses) + len(p.Status.InitContainerStatuses) }
	return statuses(a)+statuses(b) == 0 && a.Spec.Resources == nil && b.Spec.Resources == nil &&
		same(a.Spec.Containers, b.Spec.Containers) && same(a.Spec.InitContainers, b.Spec.InitContainers) &&
		sameQuantities(a.Spec.Overhead, b.Spec.Overhead)
}
