// Package rollout (experimental) plans how every node of a cluster is replaced without stopping anything: which nodes when, which pods leave in
// which wave, where each pod goes, and what would hang.
//
//	planner, err := rollout.New(rollout.Input{Snapshot: snapshot, Deployments: deployments})
//	plan, err := planner.Plan(rollout.Options{Batch: 2, Surge: 1})
//	for _, step := range plan.Steps { fmt.Println(step.Begin, step.Nodes, len(step.Waves), step.End) }
//	for _, d := range plan.Blocked { fmt.Println(d.Nodes, d.Kind, d.Proof, d.Remedies) }
//
// # The rules
//
//  1. Nodes that wait for their turn have the taint [OldTaint] with the effect PreferNoSchedule, so that pods prefer new nodes.
//     Surge nodes come first. Then batches of nodes are cordoned, drained and replaced. A replaced node comes back empty and
//     under its name; pods of DaemonSets and static pods are there again. In the end the surge nodes are drained and leave.
//  2. A batch is drained in waves. A pod leaves when the Eviction API allows the eviction (package eviction/disruption) and the
//     pod that its controller makes in its place (package [workload]) finds a node, as by [placement.Placer.Decide]. When a wave
//     begins, all pods of the waves before are gone, their replacements are ready, and the budgets are up to date.
//  3. The order of the evictions of a wave: pods that are replaced at once, then pods that are replaced when they are gone, by
//     the time that they take to stop. Among those: pods that are not ready, lower priority, namespace, name, UID. A StatefulSet
//     with OrderedReady loses one pod in a wave.
//  4. A controller replaces a pod at once when the pod is terminating. A StatefulSet, and a Job with podReplacementPolicy Failed,
//     replaces the pod when it is gone. A replacement that
//     only fits when the old pod is gone is placed then.
//  5. A batch that cannot be drained is taken back, and each of its nodes is tried alone. A node that cannot be drained alone is
//     left as it was, with a [Deadlock].
//
// # Times, order, cost
//
// Times are virtual and count from the beginning. A wave lasts until its last pod is gone and its last replacement is ready;
// a step lasts until its last node is new. A time that a [time.Duration] cannot hold is the largest one, about 292 years.
//
// A [Planner] is safe for concurrent use: each Plan works on a fork of the snapshot. What all packages promise is said in
// [github.com/podberth/podberth].
//
// Cost: one decision for each eviction and each wave in which a pod waits for room, O(nodes) for each node, and O(pods) for each
// budget and wave that changes it.
//
// The package evicts nothing and preempts nothing. A replacement in another scheduler's name has no node in the plan. Quotas are
// not charged: a pod that leaves gives back what the pod in its place is charged. The plan does not see that a quota without room makes the
// next pod wait until the old one is gone, and that a quota that was lowered below its use refuses it.
//
// The package follows Kubernetes v1.37. Rules: documentation, "Safely Drain a Node", "Disruptions", "API-initiated Eviction",
// "Workload Management"; docs/rollout.md.
package rollout
