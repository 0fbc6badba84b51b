// Package kubelet_test compares podberth with the kubelet: what a pod asks for, its cgroup values, class of service and OOM
// score, and node-pressure eviction.
package kubelet_test

import (
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/conformance/trial"
)

var names = []v1.ResourceName{"cpu", "memory", "ephemeral-storage", "example.com/gpu", "hugepages-2Mi", "hugepages-1Gi", "foo", "pods", "CPU",
	"requests.example.com/x", "kubernetes.io/y", "attachable-volumes-z", "a.b/c"}

var quantities = []string{"1", "0", "2", "500m", "100u", "1500m", "250m", "1.5Gi", "128Mi", "2.0", "3k", "1Gi", "4Gi", "4", "100m", "7", "1n", "9.999"}

func list(s *trial.Source) v1.ResourceList {
	count := s.N(5)
	if count == 0 {
		return nil
	}
	if s.Once(16) {
		count = len(names)
	}
	out := v1.ResourceList{}
	for range count {
		name := names[0]
		if s.N(3) > 0 {
			name = names[min(s.N(2*len(names)), len(names)-1)]
			if s.N(2) == 0 {
				name = names[s.N(2)]
			}
		}
		out[name] = resource.MustParse(trial.Pick(s, quantities...))
	}
	return out
}

func requirements(s *trial.Source) v1.ResourceRequirements {
	r := v1.ResourceRequirements{Requests: list(s), Limits: list(s)}
	if s.Once(3) {
		r.Limits = r.Requests.DeepCopy()
	}
	return r
}

func statuses(s *trial.Source) (out []v1.ContainerStatus) {
	for range s.N(4) {
		c := v1.ContainerStatus{Name: string(rune('a' + s.N(4))), AllocatedResources: list(s)}
		if s.N(4) > 0 {
			r := requirements(s)
			c.Resources = &r
		}
		out = append(out, c)
	}
	return out
}

// randomPod returns any pod that the API's types can hold, as JSON decodes it. The API server would refuse some of these pods.
func randomPod(s *trial.Source) (*v1.Pod, error) {
	pod := &v1.Pod{}
	for range s.N(4) {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: string(rune('a' + s.N(4))), Resources: requirements(s)})
	}
	for range s.N(5) {
		c := v1.Container{Name: string(rune('a' + s.N(4))), Resources: requirements(s)}
		if p := trial.Pick(s, "", v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyNever); p != "" {
			c.RestartPolicy = &p
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	}
	if s.Once(3) {
		pod.Spec.Overhead = list(s)
	}
	if s.Once(3) {
		r := requirements(s)
		pod.Spec.Resources = &r
	}
	if s.Once(2) {
		pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses = statuses(s), statuses(s)
	}
	if s.Once(3) {
		r := requirements(s)
		pod.Status.Resources, pod.Status.AllocatedResources = &r, list(s)
	}
	for range s.N(3) {
		pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{
			Type: trial.Pick(s, v1.PodResizePending, v1.PodResizeInProgress), Reason: trial.Pick(s, "Infeasible", "Deferred")})
	}
	if s.Once(4) {
		priority := trial.Pick(s, int32(0), 2000000000, 2000001000, -5)
		pod.Spec.Priority = &priority
	}
	if s.Once(8) {
		pod.Annotations = map[string]string{"kubernetes.io/config.source": trial.Pick(s, "file", "api"), "kubernetes.io/config.mirror": "x"}
	}
	if s.Once(6) {
		pod.Status.Phase = trial.Pick(s, v1.PodRunning, v1.PodSucceeded, v1.PodFailed)
	}
	js, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	out := &v1.Pod{}
	return out, json.Unmarshal(js, out)
}
