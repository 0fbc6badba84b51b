// Package podinfo answers small questions about one pod that several packages ask. Each answer reads only the pod's own
// fields. No function writes to its argument. A function costs O(1) unless its comment says otherwise. The pod must not be nil unless a comment allows it.
package podinfo

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// SystemCritical is the priority of the class system-cluster-critical. A pod with this priority or a higher one is
// critical.
const SystemCritical int32 = 2000000000

// HighestOfUsers is the largest value of a PriorityClass that is not built in, and of a group. There is no lower bound.
const HighestOfUsers int32 = 1000000000

// Priority returns spec.priority. A nil pod and a pod without priority have priority 0.
func Priority(pod *v1.Pod) int32 {
	if pod == nil || pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// Critical reports whether the pod's priority is SystemCritical or higher.
func Critical(pod *v1.Pod) bool { return Priority(pod) >= SystemCritical }

// Name returns namespace/name.
func Name(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

// UID returns the UID, and the Name of a pod without a UID.
func UID(pod *v1.Pod) types.UID {
	if pod.UID != "" {
		return pod.UID
	}
	return types.UID(Name(pod))
}

// SchedulerName returns spec.schedulerName, "default-scheduler" when the field is empty.
func SchedulerName(pod *v1.Pod) string {
	if pod.Spec.SchedulerName == "" {
		return v1.DefaultSchedulerName
	}
	return pod.Spec.SchedulerName
}

// Finished reports whether the pod's phase is Succeeded or Failed.
func Finished(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// Placed reports whether the pod has a node or is nominated to one.
func Placed(pod *v1.Pod) bool { return pod.Spec.NodeName != "" || pod.Status.NominatedNodeName != "" }

// Static reports whether the kubelet read the pod from a source other than the API server: the annotation
// kubernetes.io/config.source is present and its value is not "api".
func Static(pod *v1.Pod) bool {
	source, ok := pod.Annotations["kubernetes.io/config.source"]
	return ok && source != "api"
}

// Mirror reports whether the pod is the API server's copy of a static pod: the annotation kubernetes.io/config.mirror is
// present, with any value.
func Mirror(pod *v1.Pod) bool {
	_, ok := pod.Annotations[v1.MirrorPodAnnotationKey]
	return ok
}

// Observed returns an assigned pod with the status that a kubelet reports once the pod runs and is ready, as a copy. A pod with a
// Ready condition is returned as it is. Objects that people write have no status.
func Observed(pod *v1.Pod) *v1.Pod {
	if slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady }) {
		return pod
	}
	c := *pod
	c.Status.Phase = v1.PodRunning
	c.Status.Conditions = append(slices.Clone(pod.Status.Conditions), v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionTrue})
	return &c
}

// Sidecar reports whether an init container keeps running beside the containers: its restart policy is Always. A nil container
// is no sidecar.
func Sidecar(c *v1.Container) bool {
	return c != nil && c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
}

// LocalVolume reports whether the kubelet makes a volume on the node, or finds it there.
func LocalVolume(v *v1.VolumeSource) bool {
	return v.EmptyDir != nil || v.ConfigMap != nil || v.Secret != nil || v.Projected != nil || v.DownwardAPI != nil || v.HostPath != nil
}
