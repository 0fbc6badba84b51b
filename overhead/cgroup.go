package overhead

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// Bounds of cpu.shares and the smallest CFS quota, of the Linux kernel.
const (
	MinShares       int64 = 2
	MaxShares       int64 = 262144
	MinQuotaMicros  int64 = 1000
	DefaultPeriod   int64 = 100000 // microseconds
	UnlimitedMicros int64 = -1
)

// CgroupOptions describes the kubelet. The zero value enforces CPU limits with a period of 100 ms.
type CgroupOptions struct {
	// IgnoreCPULimits is set where the kubelet does not enforce CPU limits (cpuCFSQuota: false), or the pod has CPUs of its own
	// from the static CPU manager: the quota is then UnlimitedMicros.
	IgnoreCPULimits bool
	// PeriodMicros is the CFS period in microseconds; 0 is DefaultPeriod.
	PeriodMicros int64
}

// Cgroup is what the kubelet writes to a pod's cgroup. A nil pointer is a value that it leaves alone.
type Cgroup struct {
	Shares       int64            // cpu.shares of cgroup v1
	Weight       int64            // cpu.weight of cgroup v2
	QuotaMicros  *int64           // cpu.cfs_quota_us, first number of cpu.max; UnlimitedMicros and 0 mean no limit
	PeriodMicros *int64           // cpu.cfs_period_us, second number of cpu.max
	MemoryBytes  *int64           // memory.limit_in_bytes, memory.max
	HugePages    map[string]int64 // bytes by page size such as "2Mi"; nil without
}

// PodCgroup returns the values of the cgroup around all containers of the pod, overhead included, by its class:
//
//	Guaranteed   shares of the requests; quota and memory of the limits
//	Burstable    shares of the requests; quota and memory of the limits where every container declares one, or the pod does
//	BestEffort   the smallest shares, and nothing else: its overhead has no effect
//
// An init container declares a limit together with the sidecars before it. Rules: documentation, "Pod Overhead" (Verify Pod
// cgroup limits), "Resource Management for Pods and Containers".
func PodCgroup(pod *v1.Pod, o CgroupOptions) Cgroup {
	if pod == nil {
		pod = &v1.Pod{}
	}
	requests, limits := Requests(pod, Options{}), Limits(pod, Options{})
	g := Cgroup{Shares: MinShares, HugePages: hugePages(requests)}
	switch QoS(pod) {
	case v1.PodQOSGuaranteed:
		g = group(requests, limits, o)
	case v1.PodQOSBurstable:
		full := group(requests, limits, o)
		g.Shares = full.Shares
		cpu, memory := declared(pod)
		if cpu {
			g.QuotaMicros, g.PeriodMicros = full.QuotaMicros, full.PeriodMicros
		}
		if memory {
			g.MemoryBytes = full.MemoryBytes
		}
	}
	g.Weight = Weight(g.Shares)
	return g
}

// Sandbox returns what a runtime is told when it makes the pod's sandbox: the overhead alone, and the containers' requests
// and limits without it. Rule: CRI, LinuxPodSandboxConfig.overhead and .resources.
func Sandbox(pod *v1.Pod, o CgroupOptions) (overhead, containers Cgroup) {
	if pod == nil {
		pod = &v1.Pod{}
	}
	bare := Options{IgnoreOverhead: true}
	return group(pod.Spec.Overhead, pod.Spec.Overhead, o), group(Requests(pod, bare), Limits(pod, bare), o)
}

func group(requests, limits v1.ResourceList, o CgroupOptions) Cgroup {
	period := o.PeriodMicros
	if period == 0 {
		period = DefaultPeriod
	}
	quota := Quota(resources.Value(v1.ResourceCPU, limits[v1.ResourceCPU]), period)
	if o.IgnoreCPULimits {
		quota = UnlimitedMicros
	}
	memory := resources.Value(v1.ResourceMemory, limits[v1.ResourceMemory])
	g := Cgroup{
		Shares:      Shares(resources.Value(v1.ResourceCPU, requests[v1.ResourceCPU])),
		QuotaMicros: &quota, PeriodMicros: &period, MemoryBytes: &memory, HugePages: hugePages(requests),
	}
	g.Weight = Weight(g.Shares)
	return g
}

// Shares returns cpu.shares of a CPU request in thousandths: 1024 a CPU, from 2 to 262144.
func Shares(milli int64) int64 {
	if milli >= 256000 { // also where the product would overflow
		return MaxShares
	}
	return max(MinShares, milli*1024/1000)
}

// Quota returns the CFS quota in microseconds of a CPU limit in thousandths: 0, no limit, without one, otherwise at least
// 1000. A product beyond int64 saturates.
func Quota(milli, periodMicros int64) int64 {
	if milli == 0 {
		return 0
	}
	if milli > 0 && periodMicros > 0 && milli > (1<<63-1)/periodMicros {
		return (1<<63 - 1) / 1000
	}
	return max(MinQuotaMicros, milli*periodMicros/1000)
}

// Weight returns the cpu.weight (1 to 10000) of cgroup v2 that the kubelet gives a pod's cgroup for cpu.shares. Container
// runtimes may use another curve for the containers in it.
func Weight(shares int64) int64 {
	switch {
	case shares >= MaxShares:
		return 10000
	case shares < MinShares:
		return 1
	}
	return 1 + (shares-2)*9999/262142
}

// declared reports for cpu and memory whether all containers have a limit, or the pod as a whole.
func declared(pod *v1.Pod) (cpu, memory bool) {
	cpu, memory = true, true
	test := func(limits v1.ResourceList) {
		cpu = cpu && positive(limits, v1.ResourceCPU)
		memory = memory && positive(limits, v1.ResourceMemory)
	}
	for i := range pod.Spec.Containers {
		test(pod.Spec.Containers[i].Resources.Limits)
	}
	sidecars := v1.ResourceList{}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		need := clone(sidecars)
		add(need, c.Resources.Limits)
		test(need)
		if IsSidecar(c) {
			sidecars = need
		}
	}
	if r := pod.Spec.Resources; r != nil {
		cpu = cpu || positive(r.Limits, v1.ResourceCPU)
		memory = memory || positive(r.Limits, v1.ResourceMemory)
	}
	return cpu, memory
}

func positive(list v1.ResourceList, name v1.ResourceName) bool {
	q := list[name]
	return q.Sign() > 0
}

func hugePages(requests v1.ResourceList) map[string]int64 {
	var out map[string]int64
	for _, name := range sortedNames(requests) {
		size, ok := strings.CutPrefix(string(name), v1.ResourceHugePagesPrefix)
		if !ok {
			continue
		}
		if out == nil {
			out = map[string]int64{}
		}
		out[size] = resources.Value(name, requests[name])
	}
	return out
}
