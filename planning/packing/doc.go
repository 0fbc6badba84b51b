// Package packing (experimental) places a queue of pods by moving and evicting running ones, so that as many pods as possible of the highest
// priority have a node, then of the next priority, and so on.
//
//	plan, err := packing.Pack(packing.Input{Snapshot: snapshot, Pending: pending}, packing.Options{Seed: 1})
//	for _, t := range plan.Tiers { fmt.Println(t.Priority, t.Placed, "of", t.Pods, "at most", t.Bound) }
//	for _, a := range plan.Actions { fmt.Println(a.Pod, a.From, a.To) }
//
// kube-scheduler places one pod at a time, never moves a pod, and preempts on one node. So a pod may stay pending although
// the room that it needs is free, in pieces on several nodes. A plan compares three vectors. Each vector has the number of
// pods with a node by priority, the highest priority first: what kube-scheduler reaches ([Tier.Default]), what the plan
// reaches ([Tier.Placed]), and what no plan can exceed ([Tier.Bound]). The first difference decides between two vectors.
//
//   - [Plan.Optimal]: the plan reaches the bound. No better plan exists.
//   - [Plan.DefaultOptimal]: kube-scheduler reaches the bound. Nothing has to move.
//
// # How it searches
//
//  1. kube-scheduler's decisions and preemptions are played on a fork. The search begins with their outcome, or with the cluster as
//     it is if that outcome breaks a disruption budget.
//  2. Tier by tier, pods without a node are inserted: where they fit, where pods of lower tiers leave, or in place of pods that were
//     easier to place so far. These pods are inserted again. Between insertions random pods move. A cascade empties a node, or moves
//     pods along a chain of nodes, in one go.
//  3. Pods go back to their nodes where that is possible, so that fewer pods move.
//  4. The plan is carried out on a fork by the profile's filters, in the order of [Plan.Actions]. A pod that a filter rejects gets
//     another node, or none. Plan has what this reaches.
//
// The bound adds up amounts: of each resource, of sums of resources, and of amounts rounded down to fractions of a node, beside the
// pods that stay. Of filters other than NodeResourcesFit it knows which pods have no node at all.
//
// Disruption budgets are binding: a plan moves and evicts at most DisruptionsAllowed pods of each budget. Pods of DaemonSets, static
// pods, terminating pods, and pods that [Input.Movable] does not name stay where they are. A moved pod is evicted, and its controller
// has to make it again; the caller has to bring it to its node, for example by status.nominatedNodeName.
//
// With [Options.Groups] groups of pods count (package [podgroup]). The pods of a unit, which leave together, are all at home or have all left.
// A pod of a gang gets a node only if enough others of its group have one, up to the root of its tree. A group with a topology constraint
// goes to one domain, which the search does not choose again: that of its members on nodes, or the one that offers most. The bound does not
// know groups, so that it holds for them too.
//
// # Order and cost
//
// Same input, seed and steps: same plan. [Options.Stop] ends the search early; the plan is then the best so far. What all
// packages promise is said in [github.com/podberth/podberth].
//
// Cost: a step is an insertion or a move, and takes a few microseconds for each hundred nodes; pods with constraints on other pods
// take tens of microseconds more. docs/packing.md has measurements.
package packing
