// Package optimal (experimental) finds the best victims of a preemption, and says how it knows that no better victims exist.
//
// v1.37 removes all pods of lower priority from a node and lets them come back one by one. The pods that cannot come back
// are the victims. They are not always the fewest, and sometimes break a disruption budget although others would not.
// A [Search] tries the sets of victims of each node instead, by branch and bound:
//
//	search, err := optimal.New(optimal.Options{})
//	…
//	result := plan.Preempt(pod, failure, o, placement.PreemptOptions{
//		Budgets: budgets, Now: now, Options: search.Options(preemption.Options{}),
//	})
//	proof := search.Proof()
//
// The victims are the best under an order of criteria ([Options.Order]). The default order is v1.37's order of nodes: fewest
// broken budgets, fewest victims on other nodes, lowest highest priority, smallest sum of priorities, fewest victims, latest
// start. The result is never worse than v1.37's in this order if v1.37's victims give room: each node begins with these victims.
//
// With [preemption.Options.CrossNode] the pods of other nodes that may be in the way are victims as well, on every node and
// in the same search.
//
// With [preemption.Options.Units], such as groups of pods ([placement.PreemptOptions.Groups]), all pods of a unit leave together. The search sees
// that those on other nodes leave too; v1.37 sees the pods of the node alone.
//
// Comeback decides what becomes of the victims when their controllers make them again, and gives a cost to victims that find no
// other place. [PlaceGang] finds victims for pods that must come together.
//
// [Options.Quorum] keeps pods of each workload where they are, such as more than half of a StatefulSet; Quorums makes the function.
//
// # How it searches
//
// A node is not searched if the pods that could be in better victims free too little, whichever of them leave, or if pods that must
// leave are no better than the best victims so far. On the other nodes:
//
//  1. Pods are looked at from the most to the least important. Each stays or leaves.
//  2. What a node lacks of each resource bounds the number, sum and priority of the victims that are still needed. A branch
//     whose bound is not better than the best set found, on this node or on another, ends.
//  3. Pods that keep the preemptor out even if all others leave are in every set, and count in every bound.
//  4. When the room is enough, the filters of the preemptor judge. A rejection becomes a constraint: some pods that cannot
//     all stay. The search goes on with it.
//  5. When the filters allow the preemptor, they are asked about a fork of the snapshot that does not have the victims. v1.37
//     asks only a trial, which can be wrong, for example if a victim terminates already.
//
// The proof is exact for the filters of v1.37. For a filter of the caller it is exact if the filter
//
//   - accepts a node without a pod whenever it accepts the node with the pod (or needs one pod to stay, as a required affinity
//     does), and
//   - does not tell apart pods of one namespace with the same labels, affinity and requests that use no host port and no
//     volume.
//
// With preemption.Options.CrossNode, and with units on several nodes, a DoNotSchedule spread constraint or a required affinity of the
// preemptor breaks the first condition: a pod on another node may hold up the smallest count of a domain, or be the one that the preemptor
// needs. The search then goes on without the first condition, and is cut after 20,000 steps on a node.
//
// Every answer is checked by the filters, whatever they do.
//
// # Bounds and cost
//
// [Options.Steps] and [Options.Stop] bound the work. A search that was cut says so: [Proof] has the bound that it has
// proved. The same steps give the same answer. A [Search] keeps what it read of the pods of a cluster that has a change log
// ([cluster.Snapshot]), O(pods), for further requests about this cluster. What all packages promise is said in
// [github.com/podberth/podberth].
//
// Cost: at worst exponential in the pods of a node. A node of 110 pods with requests of two resources takes a few
// milliseconds, and up to a second for a preemptor as large as a fifth of the node among 200 budgets (BenchmarkNode).
package optimal
