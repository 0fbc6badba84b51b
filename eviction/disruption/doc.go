// Package disruption decides which pods may be evicted: disruption budgets, the Eviction API, and draining nodes.
//
// May this pod be evicted now?
//
//	d := disruption.Decide(pod, pdbs, disruption.Request{}, now)         // the answer of the Eviction API
//	fmt.Println(d.Outlook(), d.Cause, d.Remedies())                      // now, not now or never, why, and what helps
//
// How to drain nodes, what the controller writes into a budget, and what preemption asks:
//
//	plan := disruption.MakePlan(disruption.PlanInput{Nodes: names, Pods: pods, Budgets: pdbs, Scale: scale, Now: now})
//	s := disruption.Sync(pdb, pods, scale, now)                          // the status that the controller gives a budget
//	budgets := disruption.NewBudgets(pdbs, disruption.BudgetOptions{})
//	violates := budgets.Ledger().Take(budgets.AppendMatches(nil, pod.Namespace, pod.Labels), pod.Name)
//
// The rules:
//
//  1. A budget allows currentHealthy - desiredHealthy disruptions. desiredHealthy is minAvailable, or the replicas that the
//     controllers want minus maxUnavailable. Percentages are rounded up.
//  2. An eviction takes one disruption. A pod that has finished, is pending or is terminating takes no disruption, and neither does a pod
//     that is not ready and whose budget lets such pods leave.
//  3. A pod that several budgets select cannot be evicted.
//  4. Preemption is less strict: it counts each budget separately, and breaking a budget is only its last choice.
//
// Grace periods are in seconds. Results may share memory with arguments. Nil pods and nil budgets in lists are ignored.
// [Budgets] and the [Scale] of [NewScale] are immutable and safe for concurrent use. A [Ledger] and an [Evictions] belong to
// one goroutine. [MakePlan] does not depend on the order of the pods. What all packages promise is said in
// [github.com/podberth/podberth].
//
// Cost: a pod finds its budgets by its labels, whatever the number of budgets. Sync is O(pods of the cluster).
//
// Other packages do the rest: eviction/pressure and eviction/taint evict pods without asking a budget, preemption chooses
// victims, placement finds nodes for replacements ([PlanInput] has a callback). The package does not talk to a cluster: it
// does not cordon, wait or try again as kubectl drain does.
//
// The package follows Kubernetes 1.37 and kubectl 1.37. docs/fidelity/disruption.md lists the rules and the differences.
package disruption
