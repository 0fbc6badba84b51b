package pressure

import (
	"strings"
	"time"

	"github.com/podberth/podberth/resources"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Reason is the status.reason of evicted and refused pods, and the reason of the event.
const Reason = "Evicted"

// Keys of the annotations on the event of an eviction.
const (
	offendingContainers      = "offending_containers"
	offendingContainersUsage = "offending_containers_usage"
	offendingPod             = "offending_pod"
	offendingPodUsage        = "offending_pod_usage"
	starvedResource          = "starved_resource"
)

// Eviction is how to terminate a pod (rules E7.3 to E7.5). The pod's phase becomes Failed with [Reason] and Message, and a
// Warning event with that reason and text is written.
type Eviction struct {
	Pod          *v1.Pod
	GraceSeconds int64             // in seconds, at least 1
	WaitAtMost   time.Duration     // how long to wait for the end of the pod before the next observation
	Message      string            // every part ends with a space, also the last
	Annotations  map[string]string // annotations of the event, nil when there are none
	// Disrupted is the DisruptionTarget condition to add to the pod; nil for evictions by local-storage limits. The caller
	// sets its times.
	Disrupted *v1.PodCondition
}

func newEviction(pod *v1.Pod, graceSeconds int64, message string) *Eviction {
	if ongoing := pod.DeletionGracePeriodSeconds; pod.DeletionTimestamp != nil && ongoing != nil {
		graceSeconds = min(graceSeconds, *ongoing) // a termination can only get shorter
	}
	graceSeconds = max(graceSeconds, 1)
	return &Eviction{Pod: pod, GraceSeconds: graceSeconds, WaitAtMost: waitFor(graceSeconds), Message: message}
}

// waitFor returns one and a half times the grace, at least ten seconds and at most the largest duration.
func waitFor(graceSeconds int64) time.Duration {
	grace := resources.Seconds(graceSeconds)
	return max(10*time.Second, time.Duration(resources.Add(int64(grace), int64(grace/2))))
}

// graceSeconds returns the grace in seconds of a pod that the threshold evicts (rule E7.3). A hard threshold gives 1. A
// soft threshold gives the smaller of EvictionMaxPodGracePeriod and the pod's own grace, and at least 1. A negative maximum
// means 1, or with Options.NegativeMaxGraceMeansPod the pod's own grace (30 when the pod has none).
func (p *Policy) graceSeconds(t Threshold, pod *v1.Pod) int64 {
	if t.hard() {
		return 1
	}
	own := pod.Spec.TerminationGracePeriodSeconds
	grace := p.maxGrace
	switch {
	case grace < 0 && p.options.NegativeMaxGraceMeansPod && own != nil:
		grace = *own
	case grace < 0 && p.options.NegativeMaxGraceMeansPod:
		grace = v1.DefaultTerminationGracePeriodSeconds
	case own != nil:
		grace = min(grace, *own)
	}
	return max(grace, 1)
}

// evict returns the eviction of a pod for a threshold. m is the measurement of the threshold's signal. stats may be nil.
func (p *Policy) evict(t Threshold, m Measurement, pod *v1.Pod, stats *PodStats) *Eviction {
	word := t.Signal.Resource()
	var b strings.Builder
	value, available := t.Value.amount(m.Capacity, p.options), t.Signal.Quantity(m.Available)
	b.WriteString("The node was low on resource: " + word + ". ")
	b.WriteString("Threshold quantity: " + value.String() + ", available: " + available.String() + ". ")
	annotations := offenders(&b, t.Signal, pod, stats)
	e := newEviction(pod, p.graceSeconds(t, pod), b.String())
	e.Annotations = annotations
	e.Disrupted = &v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonTerminationByKubelet, Message: e.Message}
	return e
}

// offenders writes the containers that use more than their request into the message, and returns the annotations.
func offenders(b *strings.Builder, s Signal, pod *v1.Pod, stats *PodStats) map[string]string {
	if stats == nil {
		return nil
	}
	word := s.Resource()
	annotations := map[string]string{starvedResource: word}
	pod = allocated(pod)
	consumes := func(kind, name, used, request string) {
		b.WriteString(kind + " " + name + " was using " + used + ", request is " + request + ", has larger consumption of " + word + ". ")
	}
	if whole, ok := podRequest(pod); s.memory() && ok { // the kubelet writes this even when the pod uses less
		used := binary(number(stats.WorkingSetBytes))
		consumes("Pod", pod.Name, used.String(), whole.String())
		annotations[offendingPod], annotations[offendingPodUsage] = pod.Name, used.String()
	}
	var names, usages []string
	for i := range stats.Containers {
		c := &stats.Containers[i]
		used, request := containerUse(s, pod, c)
		if used == nil || used.Cmp(request) <= 0 {
			continue
		}
		consumes("Container", c.Name, used.String(), request.String())
		names, usages = append(names, c.Name), append(usages, used.String())
	}
	annotations[offendingContainers], annotations[offendingContainersUsage] = strings.Join(names, ","), strings.Join(usages, ",")
	return annotations
}

// podRequest returns the pod-level memory request.
func podRequest(pod *v1.Pod) (resource.Quantity, bool) {
	if pod.Spec.Resources == nil {
		return resource.Quantity{}, false
	}
	q, ok := pod.Spec.Resources.Requests[v1.ResourceMemory]
	return q, ok
}

// containerUse returns usage and request of a regular or init container. It returns nil for other containers and for
// resources that are not measured for containers.
func containerUse(s Signal, pod *v1.Pod, stats *ContainerStats) (used *resource.Quantity, request resource.Quantity) {
	var own *v1.Container
	for _, list := range [...][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == stats.Name {
				own = &list[i]
			}
		}
	}
	if own == nil {
		return nil, resource.Quantity{}
	}
	switch {
	case s.memory() && stats.WorkingSetBytes != nil:
		return binary(number(stats.WorkingSetBytes)), ask(own, v1.ResourceMemory)
	case s.Resource() == "ephemeral-storage" && stats.Rootfs.UsedBytes != nil && stats.Logs.UsedBytes != nil:
		return binary(resources.Add(number(stats.Rootfs.UsedBytes), number(stats.Logs.UsedBytes))), ask(own, v1.ResourceEphemeralStorage)
	}
	return nil, resource.Quantity{}
}

func ask(c *v1.Container, name v1.ResourceName) resource.Quantity {
	return c.Resources.Requests[name]
}
