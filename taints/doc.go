// Package taints decides what the taints of a node do to a pod: whether it may be placed there, how little the node is
// liked, and when a pod that runs there has to leave.
//
//	ev := taints.Compile(pod.Spec.Tolerations, taints.Options{}) // once per pod shape
//	if !ev.Tolerates(node) {                                     // the scheduler's filter
//		fmt.Println(ev.Untolerated(node.Spec.Taints))
//	}
//	raw := ev.RawNode(node)                                      // soft taints not tolerated
//	d := ev.Deadline(node.Spec.Taints)                           // stay, leave at once, leave after d.After
//
// The rule: a toleration tolerates a taint when effect and key are equal or left empty on the toleration's side and the
// operator accepts the value; a pod tolerates a taint when any of its tolerations does. A node rejects when a taint with
// effect NoSchedule or NoExecute is not tolerated; its raw score is the number of PreferNoSchedule taints that are not
// tolerated, turned into 100 - 100*raw/max over the feasible nodes; a running pod leaves after the smallest
// tolerationSeconds of the first toleration of each NoExecute taint, and at once when one of them has none.
//
// Around it stand the producers of taints and tolerations: taints of node conditions and of cordoning
// (ConditionTaints), the tolerations that admission and the DaemonSet controller add (WithDefaultSeconds, WithDaemonSet,
// WithMemoryPressure, WithExtendedResources), kubectl's notation (Parse, Format, Edit), the API server's checks
// (ValidateTaints, ValidateTolerations), the queueing hints and Impact, which says who leaves when a taint is added.
//
// Units: raw scores are counts, scores 0 to 100, deadlines time.Duration, tolerationSeconds whole seconds.
// Nothing is modified: functions that change an object return a copy. An Evaluator and a State are immutable and safe
// for concurrent use; every answer depends on the arguments only, and on the order of taints and tolerations only where
// the comment says so. No clock is read: where a time is needed it is a parameter. A nil list is an empty one; pods, nodes,
// taints and tolerations given by pointer are not nil, unless a comment says so.
//
// Cost: Compile is O(tolerations); the verdict of a node is O(its taints x tolerations) without allocation, or one
// array read when the cluster offers classes of equal nodes.
//
// Timers, cancellation, zones and eviction rates are in package eviction/taint; whether topology spread counts tainted
// nodes is in package spread; the quality-of-service class that WithMemoryPressure takes comes from package overhead.
//
// Follows Kubernetes v1.36 with default feature gates. Known differences: tolerationSeconds beyond 9,223,372,036 mean
// "forever" where Kubernetes' 64-bit nanoseconds wrap around (docs/fidelity/taints.md lists the rest).
package taints
