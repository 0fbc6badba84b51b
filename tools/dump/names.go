package dump

import v1 "k8s.io/api/core/v1"

// Name returns a pod's namespace/name.
func Name(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

// SchedulerName returns spec.schedulerName of a pod, "default-scheduler" when the field is empty.
func SchedulerName(pod *v1.Pod) string {
	if pod.Spec.SchedulerName == "" {
		return v1.DefaultSchedulerName
	}
	return pod.Spec.SchedulerName
}
