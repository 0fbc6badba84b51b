package kubelet

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

// Bounds of the Linux kernel, and the kubelet's default period.
const (
	minShares       int64 = 2
	maxShares       int64 = 262144
	minQuotaMicros  int64 = 1000
	defaultPeriod   int64 = 100000 // microseconds
	unlimitedMicros int64 = -1
)

// CgroupOptions describes the kubelet. The zero value enforces CPU limits with a period of 100 ms.
type CgroupOptions struct {
	// IgnoreCPULimits is true where the kubelet does not enforce CPU limits (cpuCFSQuota: false), and for a pod that has
	// exclusive CPUs of the static CPU manager. The quota is then -1.
	IgnoreCPULimits bool
	// PeriodMicros is the CFS period in microseconds. 0 is 100000.
	PeriodMicros int64
	// Release is the kubelet's release (rule L12.10).
	Release release.Version
}

// Cgroup holds the values that the kubelet writes to a cgroup. The kubelet does not write a value that is nil here.
type Cgroup struct {
	Shares       int64            // cpu.shares of cgroup v1, from 2 to 262144
	Weight       int64            // cpu.weight of cgroup v2, from 1 to 10000
	QuotaMicros  *int64           // cpu.cfs_quota_us, first number of cpu.max; -1 and 0 are no limit
	PeriodMicros *int64           // cpu.cfs_period_us, second number of cpu.max
	MemoryBytes  *int64           // memory.limit_in_bytes, memory.max; 0 is no limit
	HugePages    map[string]int64 // bytes by page size such as "2Mi"; nil if the pod requests no huge pages
}

// PodCgroup returns the values of the cgroup around all containers of the pod, overhead included, by the pod's class:
//
//	Guaranteed   shares from the requests; quota and memory from the limits
//	Burstable    shares from the requests; quota from the limits if every container or the pod declares a cpu limit, and
//	             memory from the limits if every container or the pod declares a memory limit
//	BestEffort   the smallest shares and nothing else: overhead has no effect
//
// An init container declares a limit also if a sidecar before it declares the limit, but not in v1.37. A class that Kubernetes does not know
// is treated as BestEffort. A nil pod is BestEffort. Rules O9.3 to O9.6: documentation, "Pod Overhead" (Verify Pod cgroup
// limits), "Resource Management for Pods and Containers".
func PodCgroup(pod *v1.Pod, o CgroupOptions) Cgroup {
	requests, limits := overhead.Requests(pod, overhead.Options{}), overhead.Limits(pod, overhead.Options{})
	g := Cgroup{Shares: minShares, HugePages: hugePages(requests)}
	switch QoS(pod, o.Release) {
	case v1.PodQOSGuaranteed:
		g = group(requests, limits, o)
	case v1.PodQOSBurstable:
		full := group(requests, limits, o)
		g.Shares = full.Shares
		if declares(pod, v1.ResourceCPU, o.Release) {
			g.QuotaMicros, g.PeriodMicros = full.QuotaMicros, full.PeriodMicros
		}
		if declares(pod, v1.ResourceMemory, o.Release) {
			g.MemoryBytes = full.MemoryBytes
		}
	}
	g.Weight = weight(g.Shares)
	return g
}

// Sandbox returns what the kubelet passes to a container runtime that makes the pod's sandbox: the values of the overhead
// alone, and the values of the containers' requests and limits without overhead. A nil pod is an empty pod. Rule O9.7: CRI,
// LinuxPodSandboxConfig.overhead and LinuxPodSandboxConfig.resources.
func Sandbox(pod *v1.Pod, o CgroupOptions) (fixed, containers Cgroup) {
	if pod == nil {
		pod = &v1.Pod{}
	}
	bare := overhead.Options{IgnoreOverhead: true}
	return group(pod.Spec.Overhead, pod.Spec.Overhead, o), group(overhead.Requests(pod, bare), overhead.Limits(pod, bare), o)
}

func group(requests, limits v1.ResourceList, o CgroupOptions) Cgroup {
	period := o.PeriodMicros
	if period == 0 {
		period = defaultPeriod
	}
	quota := quotaMicros(resources.Value(v1.ResourceCPU, limits[v1.ResourceCPU]), period)
	if o.IgnoreCPULimits {
		quota = unlimitedMicros
	}
	memory := resources.Value(v1.ResourceMemory, limits[v1.ResourceMemory])
	g := Cgroup{
		Shares:      shares(resources.Value(v1.ResourceCPU, requests[v1.ResourceCPU])),
		QuotaMicros: &quota, PeriodMicros: &period, MemoryBytes: &memory, HugePages: hugePages(requests),
	}
	g.Weight = weight(g.Shares)
	return g
}

// shares returns cpu.shares of a CPU request in thousandths: 1024 for each CPU, from 2 to 262144 (rule O9.1).
func shares(milli int64) int64 {
	return max(minShares, min(milli, maxShares*1000/1024)*1024/1000) // the product of the smaller number cannot overflow
}

// quotaMicros returns the CFS quota in microseconds of a CPU limit in thousandths: 0 (no limit) if the limit is 0, and
// otherwise at least 1000 (rule O9.2). If the product overflows, the product is the largest int64.
func quotaMicros(milli, periodMicros int64) int64 {
	if milli == 0 {
		return 0
	}
	if periodMicros > 0 && milli > (1<<63-1)/periodMicros {
		return (1<<63 - 1) / 1000
	}
	return max(minQuotaMicros, milli*periodMicros/1000)
}

// weight returns the cpu.weight (1 to 10000) that the kubelet gives a pod's cgroup v2 for cpu.shares, from 2 to 262144 (rule
// O9.6). Container runtimes may use another curve for the containers in the cgroup.
func weight(shares int64) int64 { return 1 + (shares-2)*9999/262142 }

// declares reports whether every container has a positive limit of the resource, or the pod as a whole has.
func declares(pod *v1.Pod, name v1.ResourceName, v release.Version) bool {
	if r := pod.Spec.Resources; r != nil && positive(r.Limits[name]) {
		return true
	}
	for i := range pod.Spec.Containers {
		if !positive(pod.Spec.Containers[i].Resources.Limits[name]) {
			return false
		}
	}
	var sidecars resource.Quantity // sum of the sidecars so far
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		need := sidecars.DeepCopy()
		need.Add(c.Resources.Limits[name])
		if !positive(need) {
			return false
		}
		if overhead.IsSidecar(c) && sidecarsDeclare(v) {
			sidecars = need
		}
	}
	return true
}

func positive(q resource.Quantity) bool { return q.Sign() > 0 }

func hugePages(requests v1.ResourceList) map[string]int64 {
	var out map[string]int64
	for name, q := range requests {
		size, ok := strings.CutPrefix(string(name), v1.ResourceHugePagesPrefix)
		if !ok {
			continue
		}
		if out == nil {
			out = map[string]int64{}
		}
		out[size] = resources.Value(name, q)
	}
	return out
}
