package scheduler

import v1 "k8s.io/api/core/v1"

// podName returns namespace/name.
func podName(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

// schedulerName returns spec.schedulerName, "default-scheduler" when the field is empty.
func schedulerName(pod *v1.Pod) string {
	if pod.Spec.SchedulerName == "" {
		return v1.DefaultSchedulerName
	}
	return pod.Spec.SchedulerName
}
