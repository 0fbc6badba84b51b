package preemption

import (
	"slices"
)

// budgetsReason is the reason of a node on which Options.NeverViolate leaves no victims.
const budgetsReason = "disruption budgets leave too few preemption victims"

// bounded finds victims of which none breaks a budget (Options.NeverViolate). It tries in this order, and a unit that would
// break a budget stays:
//
//  1. The rule of v1.37. If that breaks no budget, the victims are the same.
//  2. The least important units draw from the budgets first.
//  3. The most important units draw first.
func (d *dryRun) bounded(i int) outcome {
	d.reprieve(i)
	if !slices.ContainsFunc(d.units, func(u unit) bool { return u.out && u.violating }) {
		if !d.any() {
			return outcome{err: noVictimError(d.r.Cluster.Node(i).Name)}
		}
		return outcome{found: true}
	}
	for _, ascending := range [...]bool{true, false} {
		if d.affordable(i, ascending) {
			return outcome{found: true}
		}
	}
	return outcome{reason: budgetsReason}
}

// affordable removes the units that the budgets allow, drawing in one order, and reports whether the preemptor then fits.
func (d *dryRun) affordable(i int, ascending bool) bool {
	w := d.r.WhatIf
	w.Reset()
	d.ledger.Undo(0)
	for n := range d.units {
		k := n
		if ascending {
			k = len(d.units) - 1 - n
		}
		mark := d.ledger.Mark()
		if d.draw(k); d.units[k].violating {
			d.ledger.Undo(mark)
			continue
		}
		d.remove(i, d.members[d.units[k].from:d.units[k].to])
	}
	if w.Check(i).Verdict != 0 {
		return false
	}
	for k := range d.units {
		d.units[k].out = !d.units[k].violating && !d.back(i, k)
	}
	return d.any()
}
