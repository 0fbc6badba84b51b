package testkit

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Kata is the pod of the documentation's "Pod Overhead", after admission and defaulting, for Containers.
const Kata = `
	container busybox-ctr requests cpu=500m,memory=100Mi limits cpu=500m,memory=100Mi
	container nginx-ctr requests cpu=1500m,memory=100Mi limits cpu=1500m,memory=100Mi
	overhead cpu=250m,memory=120Mi`

// Containers reads the pod default/test-pod from lines:
//
//	container NAME [requests LIST] [limits LIST]       also: init, sidecar
//	whole [requests LIST] [limits LIST]                spec.resources
//	overhead LIST
//	status NAME [requests LIST] [limits LIST] [allocated LIST]         of a container; initstatus of an init container
//	wholestatus [requests LIST] [limits LIST] [allocated LIST]
//	resize REASON                                      a PodResizePending condition
//	class NAME                                         status.qosClass
//
// A list is what Resources reads. A list that a line does not name is nil. Containers panics on any other line.
func Containers(text string) *v1.Pod {
	pod := &v1.Pod{}
	pod.Namespace, pod.Name = "default", "test-pod"
	always := v1.ContainerRestartPolicyAlways
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		kind, words := words[0], words[1:]
		name := ""
		if len(words)%2 == 1 {
			name, words = words[0], words[1:]
		}
		lists := map[string]v1.ResourceList{}
		for i := 0; i < len(words); i += 2 {
			lists[words[i]] = Resources(words[i+1])
		}
		r := v1.ResourceRequirements{Requests: lists["requests"], Limits: lists["limits"]}
		c := v1.Container{Name: name, Resources: r}
		status := v1.ContainerStatus{Name: name, Resources: &r, AllocatedResources: lists["allocated"]}
		switch kind {
		case "container":
			pod.Spec.Containers = append(pod.Spec.Containers, c)
		case "sidecar":
			c.RestartPolicy = &always
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
		case "init":
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
		case "whole":
			pod.Spec.Resources = &r
		case "overhead":
			pod.Spec.Overhead = Resources(name)
		case "status":
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
		case "initstatus":
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, status)
		case "wholestatus":
			pod.Status.Resources, pod.Status.AllocatedResources = &r, lists["allocated"]
		case "resize":
			pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: name})
		case "class":
			pod.Status.QOSClass = v1.PodQOSClass(name)
		default:
			panic("testkit: unknown line " + line)
		}
	}
	return pod
}

// ShowResources prints a list in the form that Resources reads, in the order of the names.
func ShowResources(list v1.ResourceList) string {
	parts := []string{}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		q := list[name]
		parts = append(parts, string(name)+"="+q.String())
	}
	return strings.Join(parts, ",")
}
