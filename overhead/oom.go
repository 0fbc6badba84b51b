package overhead

import (
	"cmp"
	"fmt"
	"math/big"
	"math/bits"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/resources"
)

// Values of oom_score_adj. Processes with NeverKilled are safe from the OOM killer; the kubelet and kube-proxy give
// themselves ServiceOOMScore.
const (
	NeverKilled        = -1000
	ServiceOOMScore    = -999
	GuaranteedOOMScore = -997
	BestEffortOOMScore = 1000

	minBurstable = 3
	maxBurstable = 999
)

// What makes a pod node-critical: its class together with one of the annotations of pods that do not come from the API
// server, or with the priority of the class.
const (
	nodeCriticalClass = "system-node-critical"
)

// OOMScoreAdj returns the oom_score_adj that the kubelet gives a container of the pod on a machine with that much memory:
//
//	system-node-critical   -997
//	Guaranteed             -997
//	BestEffort             1000
//	Burstable              1000 - 1000 x memory request / capacity, from 3 to 999
//
// Under a memory request for the whole pod each container counts an equal share of what the containers' requests leave of
// it. A sidecar is killed no earlier than the container with the smallest request. Overhead is no part of it. The container
// is matched by its address or else by its name; one that the pod does not have is computed as a plain one. It fails when
// the capacity is not positive. Rule: documentation, "Node-pressure Eviction" (Node out of memory behavior), whose lower
// bound 2 is that of older kubelets.
func OOMScoreAdj(pod *v1.Pod, container *v1.Container, capacityBytes int64) (int, error) {
	if capacityBytes <= 0 {
		return 0, fmt.Errorf("memory capacity %d: must be greater than 0", capacityBytes)
	}
	if pod == nil {
		pod = &v1.Pod{}
	}
	if nodeCritical(pod) {
		return GuaranteedOOMScore, nil
	}
	switch QoS(pod) {
	case v1.PodQOSGuaranteed:
		return GuaranteedOOMScore, nil
	case v1.PodQOSBestEffort:
		return BestEffortOOMScore, nil
	}
	share := podShare(pod)
	adj := burstable(memoryOf(container)+share, capacityBytes)
	if container != nil && isSidecarOf(pod, container) {
		adj = min(adj, burstable(smallestRequest(pod)+share, capacityBytes))
	}
	if adj < minBurstable {
		return minBurstable, nil
	}
	if adj == BestEffortOOMScore {
		return maxBurstable, nil
	}
	return int(adj), nil
}

// nodeCritical reports whether the pod has the class and comes with the authority for it.
func nodeCritical(pod *v1.Pod) bool {
	if pod.Spec.PriorityClassName != nodeCriticalClass {
		return false
	}
	return podinfo.Static(pod) || podinfo.Mirror(pod) || podinfo.Critical(pod)
}

// burstable returns 1000 - 1000*memory/capacity, truncated, and at least 0.
func burstable(memory, capacity int64) int64 {
	if memory >= capacity {
		return 0
	}
	if memory < 0 { // the API does not allow it
		return 1000 + quotient(-memory, capacity)
	}
	return 1000 - quotient(memory, capacity)
}

func quotient(memory, capacity int64) int64 {
	hi, lo := bits.Mul64(1000, uint64(memory))
	q := new(big.Int).SetUint64(hi)
	q.Lsh(q, 64).Or(q, new(big.Int).SetUint64(lo))
	return q.Quo(q, big.NewInt(capacity)).Int64()
}

// podShare returns what each container counts beside its own request.
func podShare(pod *v1.Pod) int64 {
	n := int64(len(pod.Spec.Containers) + len(pod.Spec.InitContainers))
	if !podLevelRequests(pod) || n == 0 {
		return 0
	}
	whole := resources.Value(v1.ResourceMemory, pod.Spec.Resources.Requests[v1.ResourceMemory])
	if whole == 0 {
		return 0
	}
	named := Requests(pod, Options{IgnorePodLevel: true, IgnoreOverhead: true})[v1.ResourceMemory]
	return (whole - resources.Value(v1.ResourceMemory, named)) / n
}

func memoryOf(c *v1.Container) int64 {
	if c == nil {
		return 0
	}
	return resources.Value(v1.ResourceMemory, c.Resources.Requests[v1.ResourceMemory])
}

func smallestRequest(pod *v1.Pod) int64 {
	smallest := int64(0)
	for i := range pod.Spec.Containers {
		if m := memoryOf(&pod.Spec.Containers[i]); i == 0 || m < smallest {
			smallest = m
		}
	}
	return smallest
}

func isSidecarOf(pod *v1.Pod, container *v1.Container) bool {
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c == container || c.Name == container.Name {
			return IsSidecar(c)
		}
	}
	return false
}

// Process is a container, or anything else on a node, as the kernel's OOM killer sees it.
type Process struct {
	Name        string
	MemoryBytes int64 // in use
	OOMScoreAdj int   // -1000 to 1000
}

// OOMOrder returns copies of the processes in the order in which the OOM killer would take them on a machine with that much
// memory:
//
//  1. larger oom_score first: memory in use in thousandths of the machine (compared exactly, not rounded) plus oom_score_adj,
//  2. more memory in use first,
//  3. Name.
//
// Processes with an oom_score_adj of -1000 or less are never taken and left out. It fails when the capacity is not positive.
// Rule: documentation, "Node-pressure Eviction" (Node out of memory behavior).
func OOMOrder(processes []Process, capacityBytes int64) ([]Process, error) {
	if capacityBytes <= 0 {
		return nil, fmt.Errorf("memory capacity %d: must be greater than 0", capacityBytes)
	}
	capacity := big.NewInt(capacityBytes)
	score := func(p Process) *big.Int { // in units of 1/1000 of the capacity, times the capacity
		s := new(big.Int).Mul(big.NewInt(1000), big.NewInt(p.MemoryBytes))
		return s.Add(s, new(big.Int).Mul(big.NewInt(int64(p.OOMScoreAdj)), capacity))
	}
	order := slices.DeleteFunc(slices.Clone(processes), func(p Process) bool { return p.OOMScoreAdj <= NeverKilled })
	slices.SortStableFunc(order, func(a, b Process) int {
		return cmp.Or(score(b).Cmp(score(a)), cmp.Compare(b.MemoryBytes, a.MemoryBytes), cmp.Compare(a.Name, b.Name))
	})
	return order, nil
}
