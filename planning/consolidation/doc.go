// Package consolidation (experimental) finds nodes of a cluster that can be emptied and removed, and an order of moves that breaks nothing.
//
//	planner, err := consolidation.New(consolidation.Input{Snapshot: snapshot, Price: price})
//	plan, err := planner.Plan(consolidation.Options{Steps: 1000})
//	for k, wave := range plan.Waves {
//		for _, m := range wave { fmt.Println(k, m.Pod.Name, m.From, m.To) }
//	}
//	fmt.Println(plan.Before, plan.After, plan.Bound, plan.Gap())
//
// # The rules of a plan
//
//  1. The nodes to empty are cordoned first. Each of their pods moves once, to a node that stays. Pods of other nodes do not move.
//  2. Pods of DaemonSets, static pods and terminating pods leave with their node. A pod without a controller, a pod of another
//     scheduler, a pod with an emptyDir, a pod that [Input.Hold] names and a pod that the Eviction API refuses at the start hold
//     their node.
//  3. A move is an eviction and a new pod that is equal to the old pod. The Eviction API accepts the eviction (package
//     eviction/disruption), and the filters of the profile accept the new pod on its node (package [placement]).
//  4. Surge: most controllers make the new pod as soon as the old pod is terminating, so both count while the new pod is placed.
//     [InPlace]: the old pod is gone before the new pod is placed. So it is with a StatefulSet, whose new pod has the same name, and
//     with a pod that no node takes as long as its old self is there.
//  5. After each move, and after the removal of each node, the hard spread constraints and the required inter-pod terms of every
//     running pod hold, unless they did not hold at the start.
//  6. The moves of a wave can be made at the same time: no spread or affinity rule counts two moves of one wave, and the budgets
//     allow all their evictions together. The next wave begins when all new pods are ready. A node is removed at the end of the wave that
//     empties it.
//
// # Bound, order, cost
//
// The cost of a cluster is the sum of the prices of its nodes. [Plan.Bound] is proven: no plan by these rules costs less.
// Prices have the caller's unit.
//
// Plan first empties one node after the other, the cheapest move first, and then searches: it takes some emptied nodes back and
// tries to empty others, until [Options.Steps] or [Options.Stop] ends the search. The result depends on the input, Steps and Seed alone.
//
// A [Planner] is safe for concurrent use; each call works on a fork. Emptying a node costs a decision for each of its pods:
// microseconds for pods like earlier pods, O(nodes) for others. What all packages promise is said in
// [github.com/podberth/podberth].
//
// The package evicts nothing, cordons nothing, and starts no node. Priorities and preemption play no part: every moved pod finds
// room. Pods that are equal to the old pod are assumed, not what a changed template makes.
//
// The package follows Kubernetes v1.37. Rules: docs/consolidation.md.
package consolidation
