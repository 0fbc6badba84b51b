package podinfo

import v1 "k8s.io/api/core/v1"

// Resized reports whether the status of the pod has amounts that may differ from those of the spec.
func Resized(pod *v1.Pod) bool {
	if pod.Status.Resources != nil || pod.Status.AllocatedResources != nil || ResizeInfeasible(pod) {
		return true
	}
	for _, list := range [...][]v1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range list {
			if list[i].Resources != nil || list[i].AllocatedResources != nil {
				return true
			}
		}
	}
	return false
}

// ResizeInfeasible reports whether the node can never grant the desired resources. It reads only the reason of the first
// PodResizePending condition, and not the old field status.resize.
func ResizeInfeasible(pod *v1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == v1.PodResizePending {
			return c.Reason == v1.PodReasonInfeasible
		}
	}
	return false
}
