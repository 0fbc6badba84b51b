// Package kubelet (experimental) computes what a kubelet derives from a pod's requests and limits: the quality of service class, the
// values of the pod's cgroup, and the order in which the kernel's OOM killer takes processes. It decides whether a kubelet
// admits a pod that names its node.
//
//	class := kubelet.QoS(pod, release.Current)                    // Guaranteed, Burstable or BestEffort
//	g := kubelet.PodCgroup(pod, kubelet.CgroupOptions{})          // cpu.shares, CFS quota, memory limit, huge pages
//	adj, err := kubelet.OOMScoreAdj(pod, container, memoryBytes, release.Current) // oom_score_adj of one container
//	order, err := kubelet.OOMOrder(processes, memoryBytes)        // who is killed first
//	failure, rejected := kubelet.Admission{}.Admit(pod, node, running) // OutOfcpu, NodePorts, ...
//
// The rules, with a CPU request and limit in thousandths:
//
//	cpu.shares    = request * 1024 / 1000, from 2 to 262144
//	CFS quota     = limit * period / 1000, at least 1000 microseconds
//	oom_score_adj = 1000 - 1000 * memory request / memory of the machine, from 3 to 999, for Burstable pods
//
// CPU is in thousandths, memory in bytes, quotas and periods in microseconds. Results share no memory with arguments. A nil
// pod is an empty pod, except for [Admission]. The cost is O(containers x resources), for [Admission] of all pods. What all
// packages promise is said in [github.com/podberth/podberth].
//
// The package does not evict: package eviction/pressure ranks pods under node pressure. Package [overhead] computes the
// requests and limits that this package reads. Package [filter] has the rules that the kubelet shares with the scheduler.
//
// This package follows Kubernetes v1.37.2 with default feature gates on Linux. docs/fidelity/overhead.md lists the rules
// (O8 to O10) and the known differences, docs/fidelity/filter.md those of Admission (F13).
package kubelet
