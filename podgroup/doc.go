// Package podgroup (experimental) has the rules of groups of pods: when a group has enough pods, which pods of a group disagree, in which order
// members are tried, in which sets of nodes a group may go, which of the sets is best, and what is written about the group.
//
//	tree, err := podgroup.TreeOf(objects, namespace, "workers", podgroup.Gates{})   // the root of the group, with all below it
//	err = podgroup.Check(tree.Root().Spec, queued, scheduled, podgroup.Gates{})     // do the members agree?
//	q := podgroup.Quorum{Minimum: 4, Scheduled: 1, Remaining: 2}
//	if q.State() == podgroup.Unsatisfiable {
//		fmt.Println(q.Text()) // minCount (4) cannot be satisfied: 1 scheduled, 2 remaining
//	}
//
// # The rule
//
// A group with minCount m (1 for the basic policy), D members on nodes and R members that wait:
//
//	R + D < m   the group cannot be satisfied, and no more members are tried
//	D < m       the group is not satisfied yet
//	otherwise   the group is satisfied: its members are placed, and the others wait
//
// A composite group counts its children in the same way: D are the satisfied children, R those that were not evaluated yet.
//
// # Units, cost, limits
//
// Counts of pods and of groups are int. Priorities are int32, and nil is 0. Scores run from 0 to 100 for each plugin.
//
// [Group] and [Composite] are values of this package, because their API is young and changes with each release of
// Kubernetes. The caller converts API objects. What kube-scheduler does in a random order is done in the order of names
// here. What all packages promise is said in [github.com/podberth/podberth].
//
// Cost: [TreeOf] is O(groups of the namespace), [Placements] O(nodes), [Check] and Units O(pods). Quorum and the scores are O(1) for each
// resource.
//
// The package places no pods and knows no queue: placement.Placer.DecideGroup decides where the members go, and cluster.Snapshot keeps
// groups and counts members. The API server's checks of whole objects, such as "exactly one policy", belong to the conversion.
//
// The package follows Kubernetes v1.37.2 with the feature gate GenericWorkload on, and with the gates that [Gates] names. All of them are
// off by default in v1.37 (docs/fidelity/podgroup.md lists rules and differences).
package podgroup
