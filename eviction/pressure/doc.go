// Package pressure (experimental) decides what a kubelet does when its node runs short of memory, disk, inodes or processes: which node
// conditions are true, what is reclaimed first, and which single pod is evicted next.
//
// In which order would pods leave?
//
//	for _, r := range pressure.Rank("memory.available", "single", pods, usage, pressure.Options{}) {
//		fmt.Println(r.Pod.Name, r.Usage-r.Request) // over its requests, in bytes
//	}
//
// What a kubelet does, every 10 seconds (housekeeping-interval in older documents):
//
//	policy, err := pressure.Compile(pressure.Default(config, "linux"), pressure.Options{})
//	if err != nil {
//		return err
//	}
//	var state pressure.State
//	observation := pressure.Observation{Signals: pressure.Measure(stats), Layout: "single", Pods: pods, Stats: usage}
//	state, decision := policy.Observe(state, observation, now)
//	fmt.Println(decision.Conditions, decision.Reclaim, decision.Eviction) // report, then reclaim, then evict
//
// # The rules
//
//  1. A threshold is met while available < value. After it acted, it stays met until available >= value + minimum reclaim.
//  2. A threshold acts when it was met for its grace period without interruption and the measurement is new. Memory acts
//     before every other resource.
//  3. The pods that use more than their requests leave first, then pods of lower priority, then pods with the larger usage
//     minus request. Static pods, mirror pods and pods with a priority of 2000000000 or more never leave.
//  4. A node condition stays true until the transition period after the last observation that met one of its thresholds.
//
// # Units, order, cost
//
// Units: bytes, inodes or processes as int64; grace in seconds or [time.Duration]. An unknown number is nil. A signal with an
// unknown number is missing, which is not zero.
//
// A [State] is a value and can be kept as JSON: Observe returns the next state. Answers do not depend on the order of the
// pods unless [Options.KeepOrder] is set. What all packages promise is said in [github.com/podberth/podberth].
//
// Cost: Observe is O(thresholds) while no threshold acts. A threshold that acts costs one [Rank], O(pods x containers +
// pods log pods).
//
// The package also has limits on local storage ([Decision.LocalStorage]), admission under pressure ([Admit]), the pods that a
// critical pod displaces at admission ([CriticalVictims]) and a [Forecast] of the next evictions. Other packages have the rest:
// overhead/kubelet oom_score_adj, overhead node allocatable, taints/edit the taints of conditions, eviction/disruption the
// Eviction API and budgets. Node pressure asks no budget.
//
// The package follows the kubelet of Kubernetes v1.37. One difference: where the kubelet's order is random, this package has
// a fixed order (docs/fidelity/pressure.md).
package pressure
