package kubelet

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

// Values of oom_score_adj.
const (
	neverKilled     = -1000 // the OOM killer takes no process with this value
	guaranteedScore = -997
	bestEffortScore = 1000
	minBurstable    = 3
	maxBurstable    = 999
)

// A pod is node-critical if it has this class and is also static, a mirror pod, or of at least the priority of critical
// pods.
const (
	nodeCriticalClass = "system-node-critical"
)

// OOMScoreAdj returns the oom_score_adj that the kubelet of a release gives a container of the pod on a machine with capacityBytes of
// memory. The first line that applies decides:
//
//	system-node-critical   -997 (a static pod, a mirror pod, or a pod with a priority of at least 2000000000)
//	Guaranteed             -997
//	BestEffort             1000
//	otherwise              1000 - 1000 x memory request / capacity, from 3 to 999
//
// If the pod as a whole requests memory, the containers' requests are subtracted from it and each container counts an equal
// share of the rest. The value of a sidecar is at most that of the container with the smallest request. Overhead does not
// count. OOMScoreAdj finds the container by its name. A container that the pod does not have counts as a
// container that is no sidecar, and a nil container requests nothing. OOMScoreAdj fails if capacityBytes is not positive.
// Rules O10.1 to O10.5: documentation, "Node-pressure Eviction" (Node out of memory behavior). The lower bound 2 there is
// that of older kubelets.
func OOMScoreAdj(pod *v1.Pod, container *v1.Container, capacityBytes int64, v release.Version) (int, error) {
	if capacityBytes <= 0 {
		return 0, fmt.Errorf("memory capacity %d: must be greater than 0", capacityBytes)
	}
	if pod == nil {
		pod = &v1.Pod{}
	}
	if nodeCritical(pod) {
		return guaranteedScore, nil
	}
	switch QoS(pod, v) {
	case v1.PodQOSGuaranteed:
		return guaranteedScore, nil
	case v1.PodQOSBestEffort:
		return bestEffortScore, nil
	}
	share := podShare(pod)
	adj := burstable(memoryOf(container)+share, capacityBytes)
	if container != nil && isSidecarOf(pod, container) {
		adj = min(adj, burstable(smallestRequest(pod)+share, capacityBytes))
	}
	if adj == bestEffortScore {
		return maxBurstable, nil
	}
	return int(max(adj, minBurstable)), nil
}

// nodeCritical reports whether the pod is node-critical.
func nodeCritical(pod *v1.Pod) bool {
	if pod.Spec.PriorityClassName != nodeCriticalClass {
		return false
	}
	return podinfo.Static(pod) || podinfo.Mirror(pod) || podinfo.Critical(pod)
}

// burstable returns 1000 - 1000*memory/capacity, at least 0. It truncates the quotient. Negative memory, which the API server
// rejects, gives more than 1000.
func burstable(memory, capacity int64) int64 {
	q := new(big.Int).Mul(big.NewInt(1000), big.NewInt(min(memory, capacity)))
	return 1000 - q.Quo(q, big.NewInt(capacity)).Int64()
}

// podShare returns what each container counts beside its own request: an equal share of what the containers leave of the
// memory request of the pod as a whole.
func podShare(pod *v1.Pod) int64 {
	n := int64(len(pod.Spec.Containers) + len(pod.Spec.InitContainers))
	if pod.Spec.Resources == nil || n == 0 {
		return 0
	}
	whole := resources.Value(v1.ResourceMemory, pod.Spec.Resources.Requests[v1.ResourceMemory])
	if whole == 0 {
		return 0
	}
	named := overhead.Requests(pod, overhead.Options{IgnorePodLevel: true, IgnoreOverhead: true})[v1.ResourceMemory]
	return (whole - resources.Value(v1.ResourceMemory, named)) / n
}

func memoryOf(c *v1.Container) int64 {
	if c == nil {
		return 0
	}
	return resources.Value(v1.ResourceMemory, c.Resources.Requests[v1.ResourceMemory])
}

func smallestRequest(pod *v1.Pod) (smallest int64) {
	for i := range pod.Spec.Containers {
		m := memoryOf(&pod.Spec.Containers[i])
		if i == 0 {
			smallest = m
		}
		smallest = min(smallest, m)
	}
	return smallest
}

func isSidecarOf(pod *v1.Pod, container *v1.Container) bool {
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.Name == container.Name {
			return overhead.IsSidecar(c)
		}
	}
	return false
}

// Process is a process on a node as the kernel's OOM killer sees it.
type Process struct {
	Name        string
	MemoryBytes int64 // memory in use
	OOMScoreAdj int   // -1000 to 1000
}

// OOMOrder returns copies of the processes in the order in which the OOM killer takes them on a machine with capacityBytes
// of memory:
//
//  1. Larger oom_score first: memory in use in thousandths of the machine (not rounded), plus oom_score_adj.
//  2. More memory in use first.
//  3. Name.
//
// OOMOrder leaves out processes with an oom_score_adj of -1000 or less: the OOM killer never takes them. It fails if
// capacityBytes is not positive. Rule O10.6: documentation, "Node-pressure Eviction" (Node out of memory behavior).
// A nil list has no order.
func OOMOrder(processes []Process, capacityBytes int64) ([]Process, error) {
	if capacityBytes <= 0 {
		return nil, fmt.Errorf("memory capacity %d: must be greater than 0", capacityBytes)
	}
	capacity := big.NewInt(capacityBytes)
	score := func(p Process) *big.Int { // in units of 1/1000 of the capacity, times the capacity
		s := new(big.Int).Mul(big.NewInt(1000), big.NewInt(p.MemoryBytes))
		return s.Add(s, new(big.Int).Mul(big.NewInt(int64(p.OOMScoreAdj)), capacity))
	}
	order := slices.DeleteFunc(slices.Clone(processes), func(p Process) bool { return p.OOMScoreAdj <= neverKilled })
	slices.SortStableFunc(order, func(a, b Process) int {
		return cmp.Or(score(b).Cmp(score(a)), cmp.Compare(b.MemoryBytes, a.MemoryBytes), cmp.Compare(a.Name, b.Name))
	})
	return order, nil
}
