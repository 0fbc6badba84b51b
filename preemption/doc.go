// Package preemption (experimental) decides which pods leave so that a pod that fits on no node gets room.
//
// The flow, with package placement for the filters (placement.Plan.Preempt does all of it):
//
//	attempt := plan.Prepare(pod)
//	what := attempt.WhatIf(placement.Options{}) // the preemptor's filters, as if pods had come or left
//	r := preemption.Preempt(preemption.Request{
//		Pod: pod, Cluster: snapshot, WhatIf: what, Rejections: attempt.Rejections(nil, placement.Options{}),
//		Budgets: disruption.NewBudgets(pdbs, disruption.BudgetOptions{}), Now: now,
//	})
//	actions := r.Actions(pod, nominated) // delete the victims, clear nominations, nominate the pod
//
// Without package placement, [WhatIfOver] asks the caller's function whether the pod fits beside the pods that stay.
//
// # The rule
//
// Each node whose rejection can be cured is tried, in the order of the names, beginning at [Options.Offset]. On a node
//
//  1. all pods of lower priority leave;
//  2. if the preemptor then fits, the pods come back as long as the preemptor still fits: first the pods whose disruption
//     budget is exhausted, then the others, the more important pods first;
//  3. the pods that cannot come back are the victims.
//
// Of the nodes found, six criteria choose the best (docs/preemption.md). The package evicts nothing: the result is a plan.
//
// # Units, order, cost
//
// Priorities are int32; a higher number is more important, and a pod without priority has 0. A disruption budget counts
// pods; the rest of a budget may be negative. Times are instants; a pod without a start time started at [Request.Now].
// [Cluster.Pods] is never called for a free slot.
//
// There is no clock and no randomness ([Request.Now], [Options.Offset]). The answer depends on the order of the pods on a
// node only if pods have equal priority and start. A [Planner] and an [Index] keep memory between calls and belong to one
// goroutine. The functions may run side by side on one cluster that does not change, each with its own [WhatIf]. What all
// packages promise is said in [github.com/podberth/podberth].
//
// Cost: O(nodes) for the list of nodes to try. For each node tried, one check of the filters and one more for each pod of
// lower priority. [Options.Candidates] bounds the number of nodes tried once a node is found that breaks no budget.
//
// Package admission gives pods the priorities of their classes. Packages filter and placement filter nodes. The disruption
// controller counts budgets. The caller deletes pods. Package eviction/pressure makes room for critical pods on a kubelet.
// Package queue holds the pods that wait.
//
// This package follows Kubernetes v1.37: the documentation's "Pod Priority and Preemption" and the API fields of
// PriorityClass, PodDisruptionBudget and pod status. docs/fidelity/preemption.md lists rules, differences and options.
package preemption
