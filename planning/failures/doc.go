// Package failures (experimental) decides what happens to the pods of a cluster when nodes fail.
//
//	planner, err := failures.New(failures.Input{Snapshot: snapshot, Deployments: deployments, Jobs: jobs})
//	results, err := planner.Run(planner.Nodes(), failures.Options{})     // the failure of each node
//	results, err = planner.Run(planner.By(v1.LabelTopologyZone), failures.Options{})
//	failures.Worst(results)
//	for _, g := range results[0].Groups { fmt.Println(g.Workload, g.Cause, g.Reason, len(g.Pods)) }
//	headroom, err := planner.Headroom(failures.Search{}) // how many nodes may fail
//
// # The rules of one scenario
//
//  1. The nodes and the pods on them leave the cluster at the same moment. Volumes and their claims stay. A ResourceClaim that was
//     made for a pod goes with the pod. Another ResourceClaim loses its allocation with the last pod that has reserved it.
//  2. Controllers make again what they lack (package [workload]), and the API server admits the pods (package [admission]). A pod
//     whose controller is not among the objects is made again as it was. A lost pod gives back what quotas charge, and the pod in its place is charged;
//     a pod that is refused is not made again. A pod without a controller is gone. The pods of a
//     DaemonSet and static pods leave with their node. A workload makes no more pods than the failure cost it.
//  3. All pods are made at the same moment. They are tried in the queue's order: by priority, then pods that waited before the
//     failure, then in the order in which package workload makes pods. Each is decided as by [placement.Placer.Decide].
//  4. A pod that fits nowhere preempts pods of lower priority. The victims leave at once, the pod is tried again at once, and
//     the victims' controllers make them again.
//  5. Pods that failed are tried again whenever a pod came or left since their attempt, in the same order, until nothing
//     changes. StatefulSets with OrderedReady go on when a pod has a node, for a pod with a node is ready.
//
// # Units, order, cost
//
// Amounts have the units of package [resources], times count from the failure.
//
// A [Planner] is safe for concurrent use. Run calls the caller's parallel-for; each call works on a fork of the snapshot
// that it keeps for later calls. What all packages promise is said in [github.com/podberth/podberth].
//
// Cost of a scenario: O(nodes) for each distinct pod of the lost nodes, then a few microseconds for each further pod. A pod that
// fits nowhere costs what Plan.Preempt costs.
//
// The package binds nothing, evicts nothing and knows no cloud: nodes do not come back, and no autoscaler adds nodes. Disruption
// budgets hold no pod back: a failure does not ask them. Package eviction/disruption plans drains.
//
// The package follows Kubernetes v1.37. Rules: documentation, "Nodes" (Node controller), "Workload Management", "Pod Priority and
// Preemption"; docs/failures.md.
package failures
