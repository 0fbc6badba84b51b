// Package pressure decides what a kubelet does when its node runs short of memory, disk, inodes or processes: which node
// conditions are true, what is reclaimed first, and which single pod is evicted next.
//
//	policy, err := pressure.Compile(pressure.Default(config, pressure.Linux), pressure.Options{})
//	var state pressure.State
//	for {                                     // every pressure.MonitoringInterval
//		state, decision = policy.Observe(state, pressure.Observation{Signals: pressure.Measure(stats), Layout: pressure.Single, Pods: pods, Stats: usage}, now)
//		report(decision.Conditions)           // first decision.Reclaim, then decision.Eviction
//	}
//
// The rule: a threshold is met while available < value, and since it acted until available >= value + minimum reclaim; it
// acts when it was met for its grace period without interruption and the measurement is new. Memory acts before everything
// else. Of the pods those go first that use more than they asked for, then those of lower priority, then those with the
// larger usage minus request; static pods, mirror pods and pods with a priority of 2000000000 or more never go. A
// condition stays true until the transition period after the last observation that met one of its thresholds.
//
// Units: bytes, inodes or processes as int64, grace in seconds or time.Duration. A number that is not known is nil, and a
// signal with such a number is missing, not zero. Nothing is read from a clock: Observe gets the time.
//
// A Policy is immutable and safe for concurrent use. A State is a value: Observe returns the next one and changes neither
// its arguments nor the pods; it can be kept as JSON. The answer does not depend on the order of maps, nor on that of the
// pods unless Options.KeepOrder says so.
//
// Cost: Observe is O(thresholds) while nothing acts, and one Rank, O(pods x containers + pods log pods), when a threshold
// acts.
//
// Also here: limits on local storage (LocalStorage), admission under pressure (Admit), what a critical pod displaces at
// admission (CriticalVictims), and a Forecast of who would go next. oom_score_adj and node allocatable are in package
// overhead, the taints of conditions in taints, the Eviction API and disruption budgets in eviction/disruption; node
// pressure looks at none of the last.
//
// Follows the kubelet of Kubernetes v1.36. Known differences: where the kubelet's order is random, a stated one
// (docs/fidelity/pressure.md).
package pressure
