// Package disruption decides whether pods may be evicted: disruption budgets, the Eviction API, and draining nodes.
//
//	b := disruption.NewBudgets(pdbs, disruption.BudgetOptions{})    // preemption: which victims break a budget
//	violating, others := b.Split(victims)
//
// Nothing here does I/O or reads a clock; arguments are never written to.
package disruption
