// Package preemption decides which pods give way to a pod that fits nowhere, and resolves priorities.
//
// The flow, with package placement for the filters (Preempter there does all of it):
//
//	what := attempt.WhatIf(placement.Options{})      // the preemptor's filters, to be asked "what if"
//	r := preemption.Preempt(preemption.Request{
//		Pod: pod, Cluster: snapshot, WhatIf: what, Rejections: rejections, Budgets: disruption.NewBudgets(pdbs, …), Now: now,
//	})
//	for _, a := range r.Actions(pod, nominated) { … } // delete victims, clear nominations, nominate pod
//
// The rule: of the nodes whose rejection can be cured, in order of their names from an offset on, each is tried: all pods of
// lower priority leave, and if the preemptor then fits they come back as long as it still does, those whose disruption
// budget is exhausted first, then the others, the more important ones first. Those that cannot come back are the victims. Of
// the nodes found the best is chosen by six criteria (Choose). Nothing is evicted here: the result is a plan.
//
// Priorities are int32, higher is more; a pod without one has 0. A disruption budget counts pods; what is left of it may be
// negative. Times are instants; a pod without a start time started at Request.Now. Slots are the cluster's handles of nodes.
//
// Arguments are read, never changed; there is no clock and no randomness (Request.Now, Options.Offset), and the answer does
// not depend on the order of nodes, budgets or maps; it does depend on the order of the pods on a node among pods of equal
// priority and start. A Planner and an Index keep memory between calls and belong to one goroutine; the functions are safe
// to call side by side on one cluster while it does not change, each with a WhatIf of its own.
//
// Cost: O(nodes) for the list of nodes to try, and for each node tried one check of the filters plus one for each pod of
// lower priority there. The number of nodes tried is bounded by Options.Candidates once one is found that breaks no budget.
//
// What it does not do: filter nodes (package filter and placement), count budgets (the disruption controller), delete pods
// (the caller), make room for critical pods on the kubelet's side (package eviction/pressure), wait in a queue (package
// queue).
//
// Followed is Kubernetes v1.36: the documentation's "Pod Priority and Preemption" and the API fields of PriorityClass,
// PodDisruptionBudget and pod status. Differences and options are listed in docs/fidelity/preemption.md; docs/preemption.md
// explains the algorithm with an example.
package preemption
