// Package disruption decides which pods may be evicted: disruption budgets, the Eviction API, and draining nodes.
//
//	s := disruption.Sync(pdb, pods, scale, now)                          // the status that the controller gives a budget
//	d := disruption.Decide(pod, pdbs, disruption.Request{}, now)         // the answer of the Eviction API
//	d.Outlook(); d.Cause; d.Remedies()                                   // now, not now or never, why, and what helps
//	plan := disruption.MakePlan(disruption.PlanInput{Nodes: names, Pods: pods, Budgets: pdbs, Scale: scale, Now: now})
//	budgets := disruption.NewBudgets(pdbs, disruption.BudgetOptions{})
//	violates := budgets.Ledger().Take(budgets.AppendMatches(nil, pod.Namespace, pod.Labels), pod.Name) // preemption's question
//
// A budget allows currentHealthy - desiredHealthy disruptions, desiredHealthy being minAvailable, or what its controllers
// want less maxUnavailable; percentages are rounded up. An eviction takes one; a pod that has finished, is pending or
// terminating takes none, nor does one that is not ready where the budget lets such pods go; a pod that several budgets
// cover cannot be evicted. Preemption is laxer: it counts every budget by itself, and only prefers not to break one.
//
// Grace periods are in seconds, times are arguments. Arguments are never written to; results may share memory with them.
// Nil pods and nil budgets in lists are ignored.
// Nothing here does I/O or reads a clock. Budgets and what NewScale returns are immutable and safe for concurrent use, a Ledger and
// Evictions belong to one goroutine. No answer depends on the order of a map; MakePlan's also not on the order of the pods.
//
// Cost: a pod finds its budgets by its labels, whatever their number; Sync is O(pods of the cluster).
//
// What it does not do: ending pods under node pressure (eviction/pressure) and by taints (eviction/taint), which ask no
// budget; choosing victims (preemption); finding nodes for replacements (a callback of PlanInput; package placement);
// talking to a cluster, cordoning, waiting and trying again (kubectl drain).
//
// It follows Kubernetes 1.36 and kubectl 1.36; docs/fidelity/disruption.md lists the rules and the differences.
package disruption
